import { contribute } from "../../shared/spend/counter.ts";
import { readDay } from "../../shared/spend/day-view.ts";
import { entryName } from "../../shared/spend/entry-name.ts";
import type { Table } from "../../shared/world/world.ts";

/** What a session spent on a day. `row`: the key of the report, with calls, tokens, μ$, estimated calls, and μ$ saved. */
interface SpentDay {
  date: string;
  sessionKey: string;
  amounts: Record<string, number>;
  row: readonly [key: string, numbers: readonly number[]];
}

/** Stores a day's spending of a session as the agent does. */
export async function spend(table: Table, { date, sessionKey, amounts, row }: SpentDay): Promise<void> {
  await contribute(table, await readDay(table, date), {
    name: entryName(sessionKey, true),
    entry: { epoch: 1, n: 1, amounts },
    held: {},
    rows: new Map([row]),
    most: {},
  });
}
