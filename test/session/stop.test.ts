import { describe, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { runCommand } from "../../shared/session/commands/commands.ts";
import { parseCommand } from "../../shared/session/commands/parse-command.ts";
import { dequeue } from "../../shared/session/dequeue.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import type { Intake } from "../../shared/session/intake.ts";
import { acquire, commitEntry, commitRunEnd } from "../../shared/session/lease.ts";
import { newRun } from "../../shared/session/run.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { assign, metaKey, newSession } from "../../shared/session/state.ts";
import { requestStop } from "../../shared/session/stop.ts";
import { set } from "../../shared/world/expression.ts";
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

it("a guest stops only the run of the same guest's message", async () => {
  const guest = (senderId?: string) => ({ role: "guest", ...(senderId ? { senderId } : {}) }) as const;
  const table = createMemoryTable();
  const stop = (by: object, id = "s") => requestStop(table, sessionKey, id, 2, by);
  await appendEntry(table, sessionKey, { ...message("m1"), ...guest("ann") }, 1);
  expect([await stop(guest("bob")), await stop(guest())]).toEqual(["refused", "refused"]);
  expect(await stop(guest("ann"))).toMatchObject({ runId: "m1", pendingCount: 0 });
  expect(await table.get(metaKey(sessionKey))).toMatchObject({
    stop: "m1",
    duePk: expect.stringMatching(/^DUE/),
    dueAt: 2,
  });
  const run = newRun({ ...message("m1"), senderId: "ann" }, 1, 1);
  const running = (changes: object) =>
    table.update(metaKey(sessionKey), [set("run", { ...run, ...changes } as never)]);
  await running({});
  expect(await stop(guest("ann"), "other")).toBe("refused");
  await running({ ...guest("ann"), pendingCount: 3 });
  expect(await stop(guest("ann"), "third")).toMatchObject({ runId: "m1", pendingCount: 3 });
});

it.each([
  ["a reset", { run: undefined, inbox: [{ id: "r", kind: "reset" }] }],
  ["an answer in delivery", { run: { runId: "r", phase: "reply" }, inbox: [] }],
  ["nothing", { inbox: [] }],
])("a stop during %s stops nothing", async (_, changes) => {
  const table = createMemoryTable();
  expect(await requestStop(table, sessionKey, "stop", 2)).toBeUndefined();
  await table.put({
    ...(newSession(sessionKey, "id", 1) as object),
    ...changes,
    ...metaKey(sessionKey),
  } as never);
  expect(await requestStop(table, sessionKey, "stop", 2)).toBeUndefined();
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

describe("messages that have not begun", () => {
  const ids = [1, 2, 3].map((n) => `0000000${n}-0000-4000-8000-000000000000`) as [string, string, string];
  const [first, second, third] = ids;
  const remove = (table: Table, id: string, from: readonly string[], by = {}) =>
    dequeue(table, sessionKey, id, from, 2, by);
  const left = async (table: Table) => (await readSession(table, sessionKey))?.inbox.map(({ id }) => id);

  it("are removed by /stop with their run ids, are not accepted again, and their bytes are free", async () => {
    const { table } = await running(...ids);
    const intake = { table, now: () => 2, wake: async () => {} } as unknown as Intake;
    const stop = (text: string) => runCommand(intake, sessionKey, text, parseCommand(text)!, {});
    expect(await stop(`/stop ${third} ${first} ${second}`)).toEqual({
      response: `Stopped run ${first}. Stopped before they began: ${second}, ${third}.`,
    });
    expect(await readSession(table, sessionKey)).toMatchObject({ inbox: [], inboxBytes: 0, stop: first });
    expect(await appendEntry(table, sessionKey, message(second), 3)).toMatchObject({ accepted: false });
  });

  it("are removed once, and reported, when the write is repeated after a lost response", async () => {
    const { table } = await running(...ids);
    const between = () => appendEntry(table, sessionKey, message("later"), 2);
    expect(await remove(repeating(table, between), "r", [second, third])).toEqual([second, third]);
    expect(await left(table)).toEqual(["later"]);
  });

  it.each([true, false])("stay when the run ends meanwhile, and the next one begins: %s", async (begins) => {
    const { table, lease, begin } = await running(...ids);
    let isFirst = true;
    const overtaken: Table = {
      ...table,
      async update(...write) {
        if (isFirst)
          await commitRunEnd(table, lease, first, []).then((state) => (begins ? begin(second) : state));
        isFirst = false;
        return table.update(...write);
      },
    };
    expect(await remove(overtaken, "r", [second, third])).toEqual([third]);
    expect(await left(table)).toEqual(begins ? [] : [second]);
  });

  it("are left when no run is committed and they are next: the agent may be beginning them", async () => {
    const { table, lease, begin } = await running(...ids);
    await commitRunEnd(table, lease, first, []);
    expect(await remove(table, "r", [second, third])).toEqual([third]);
    await begin(second);
    expect(await readSession(table, sessionKey)).toMatchObject({ run: { runId: second } });
  });

  it("are left when the gateway sent them, or another guest", async () => {
    const { table } = await running(first);
    const guest = { role: "guest", senderId: "g" } as const;
    const exec = { kind: "exec", nodeId: "n", sessionId: "s", conversation: "c" } as const;
    for (const entry of [
      { ...message("task"), task: exec },
      { ...message("own"), ...guest },
      { ...message("other"), role: "guest", senderId: "o" } as const,
      { ...message("new"), kind: "reset", via: "command" } as const,
    ])
      await appendEntry(table, sessionKey, entry, 1);
    const all = ["task", "own", "other", "new"];
    expect(await remove(table, "r1", all, guest)).toEqual(["own"]);
    expect(await remove(table, "r2", all)).toEqual(["other", "new"]);
    expect(await left(table)).toEqual(["task"]);
  });
});
