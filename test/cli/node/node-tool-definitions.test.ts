import { expect, it } from "vitest";
import { nodeTools } from "../../../cli/node/tools/offered.ts";
import definitions from "./node-tool-definitions.json" with { type: "json" };

it("a node announces its tools, their arguments and descriptions as the contract states", () => {
  expect(nodeTools.map(({ definition }) => definition)).toEqual(definitions);
});
