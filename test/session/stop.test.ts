import { expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { runCommand } from "../../shared/session/commands/commands.ts";
import { parseCommand } from "../../shared/session/commands/parse-command.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import type { Intake } from "../../shared/session/intake.ts";
import { acquire, commitEntry, commitRunEnd } from "../../shared/session/lease.ts";
import { newRun } from "../../shared/session/run.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { assign } from "../../shared/session/state.ts";
import { requestStop } from "../../shared/session/stop.ts";
import type { Table } from "../../shared/world/world.ts";

const sessionKey = "agent:main:stop";
const message = (id: string) =>
  ({ id, at: 0, origin: { kind: "client" }, kind: "message", text: id }) as const;

/** A session with waiting messages, the first of them in a run. */
async function running(...ids: string[]) {
  const table = createMemoryTable();
  for (const id of ids) await appendEntry(table, sessionKey, message(id), 1);
  const { lease } = (await acquire(table, sessionKey, "agent", 1))!;
  const begin = (id: string) =>
    commitEntry(table, lease, message(id), [assign("run", newRun(message(id), 1, 1))]);
  await begin(ids[0]!);
  return { table, lease, begin };
}

/** The table, whose next update is made twice, as the SDK does after a lost response; `between` runs between the two. */
function repeating(table: Table, between: () => Promise<unknown>): Table {
  return {
    ...table,
    async update(...write) {
      await table.update(...write);
      await between();
      return table.update(...write);
    },
  };
}

it("a repeated write of a run's end does not remove the stop of the next message", async () => {
  const { table, lease } = await running("m1", "m2");
  const stopNext = () => requestStop(table, sessionKey, "stop", 2);
  await commitRunEnd(repeating(table, stopNext), lease, "m1", []);
  expect(await readSession(table, sessionKey)).toMatchObject({ stop: "m2", inbox: [{ id: "m2" }] });
});

it("a run's end also removes the stop of that run", async () => {
  const { table, lease } = await running("m1", "m2");
  await requestStop(table, sessionKey, "stop", 2);
  const ended = await commitRunEnd(table, lease, "m1", []);
  expect(ended).not.toHaveProperty("run");
  expect(ended).not.toHaveProperty("stop");
});

it("a stop whose response was lost stops nothing else when it is repeated", async () => {
  const { table, lease } = await running("m1", "m2");
  const end = () => commitRunEnd(table, lease, "m1", []);
  const stopped = await requestStop(repeating(table, end), sessionKey, "stop", 2);
  expect(stopped).toMatchObject({ pendingCount: 0 });
  expect(await readSession(table, sessionKey)).not.toHaveProperty("stop");
});

it("a sender's retry of an accepted stop stops nothing else, but another stop does", async () => {
  const { table, lease } = await running("m1", "m2");
  expect(await requestStop(table, sessionKey, "stop", 2)).toMatchObject({ runId: "m1" });
  expect(await requestStop(table, sessionKey, "stop", 3)).toMatchObject({ runId: "m1" });
  await commitRunEnd(table, lease, "m1", []);
  expect(await requestStop(table, sessionKey, "stop", 4)).toMatchObject({ pendingCount: 0 });
  expect(await readSession(table, sessionKey)).not.toHaveProperty("stop");
  expect(await requestStop(table, sessionKey, "another", 5)).toMatchObject({ runId: "m2" });
});

it("a stop of one run does not affect any other", async () => {
  const { table, lease } = await running("m1", "m2");
  const stop = (id: string) => requestStop(table, sessionKey, `stop ${id}`, 2, {}, id);
  expect(await stop("m2")).toBeUndefined();
  expect(await readSession(table, sessionKey)).not.toHaveProperty("stop");
  expect(await stop("m1")).toMatchObject({ runId: "m1" });
  await commitRunEnd(table, lease, "m1", []);
  expect(await stop("m2")).toMatchObject({ runId: "m2" });
});

it("/stop with a run id stops only that run; any other text after it is ignored", async () => {
  const [first, second] = [1, 2].map((n) => `0000000${n}-0000-4000-8000-000000000000`) as [string, string];
  const { table } = await running(first, second);
  const intake = { table, now: () => 2, wake: async () => {} } as unknown as Intake;
  const say = (text: string) => runCommand(intake, sessionKey, text, parseCommand(text)!, {});
  expect(await say(`/stop ${second}`)).toEqual({ response: `Run ${second} is not in progress.` });
  expect(await say(`/stop ${first}`)).toEqual({ response: `Stopped run ${first}.` });
  expect(await say("/stop please")).toEqual({ response: `Stopped run ${first}.` });
});

it("a stop that is written while its run ends does not stop the next message", async () => {
  const { table, lease } = await running("m1", "m2");
  let isFirst = true;
  const overtaken: Table = {
    ...table,
    async update(...write) {
      if (isFirst) await commitRunEnd(table, lease, "m1", []);
      isFirst = false;
      return table.update(...write);
    },
  };
  expect(await requestStop(overtaken, sessionKey, "stop", 2)).toBeUndefined();
  expect(await readSession(table, sessionKey)).not.toHaveProperty("stop");
});

it("a stop that is written while the message's run starts stops it", async () => {
  const { table, lease, begin } = await running("m1", "m2");
  await commitRunEnd(table, lease, "m1", []);
  const overtaken: Table = {
    ...table,
    async update(...write) {
      await begin("m2").catch(() => {});
      return table.update(...write);
    },
  };
  expect(await requestStop(overtaken, sessionKey, "stop", 2)).toMatchObject({ runId: "m2" });
  expect(await readSession(table, sessionKey)).toMatchObject({ stop: "m2", run: { runId: "m2" } });
});
