import { createMemoryTable } from "../../local/world/table/local-table.ts";
import { startState } from "../support/state.ts";
import { describeTable } from "./table-contract.ts";

describeTable("the table over DynamoDB", startState);
describeTable("the table in memory", async () => ({ table: createMemoryTable(), close: async () => {} }));
