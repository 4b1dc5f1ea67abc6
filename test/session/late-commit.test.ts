import { expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import {
  acquire,
  commit,
  commitEntry,
  leaseMs,
  releaseIdle,
  releaseWaiting,
  renew,
} from "../../shared/session/lease.ts";
import { newRun, waitingFor } from "../../shared/session/run.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { assign, metaKey } from "../../shared/session/state.ts";
import { remove, set } from "../../shared/world/expression.ts";
import type { Table } from "../../shared/world/world.ts";

const sessionKey = "agent:main:late";
const message = (id: string) =>
  ({ id, at: 0, origin: { kind: "client" }, kind: "message", text: "" }) as const;

/** A held session, and its table, which records the writes so that one can be repeated later. */
async function heldSession() {
  const table = createMemoryTable();
  await appendEntry(table, sessionKey, message("m"), 0);
  const { lease, state } = (await acquire(table, sessionKey, "holder", 0))!;
  const given: Parameters<Table["update"]>[] = [];
  const noting: Table = {
    ...table,
    update: (...write) => {
      given.push(write);
      return table.update(...write);
    },
  };
  const carryOutAgain = () => table.update(...given.at(-1)!);
  return { table, noting, lease, state, carryOutAgain };
}

it("a commit that timed out and is carried out after a later one changes nothing", async () => {
  const { table, noting, lease, state, carryOutAgain } = await heldSession();
  const third = await commit(noting, lease, [set("head", 3)], state);
  expect(await commit(table, lease, [set("head", 3)], state)).toEqual(third);
  await commit(table, lease, [set("head", 4)], third);
  await expect(carryOutAgain()).rejects.toThrow("condition");
  expect((await readSession(table, sessionKey))?.head).toBe(4);
});

it("a commit that is carried out twice reverts no later write", async () => {
  const { table, noting, lease, state, carryOutAgain } = await heldSession();
  const run = waitingFor(newRun(message("m"), 1, 0), { a: { nodeId: "n", tool: "t" } }, 1000);
  const waiting = await commit(noting, lease, [assign("run", run)], state);
  await releaseWaiting(table, lease, waiting.commits ?? 0, { runId: "m", attempt: 1, deadline: 1000 });
  await table.update(metaKey(sessionKey), [remove(["run", "pending", "a"]), set(["run", "pendingCount"], 0)]);
  await expect(carryOutAgain()).rejects.toThrow("condition");
  expect((await readSession(table, sessionKey))?.run).toMatchObject({ pending: {}, pendingCount: 0 });
});

it.each(["idle", "waiting"])(
  "a release of an %s session that timed out and is carried out after a later commit keeps the lease",
  async (kind) => {
    const { table, noting, lease, state, carryOutAgain } = await heldSession();
    const pending = { a: { nodeId: "n", tool: "t" } };
    const run = waitingFor(newRun(message("m"), 1, 0), pending, 1000);
    const { commits = 0 } =
      kind === "idle"
        ? state
        : await commit(table, lease, [assign("run", { ...run, pendingCount: 0 })], state);
    // Each finds work, so the holder continues.
    const refused =
      kind === "idle"
        ? releaseIdle(noting, lease, commits)
        : releaseWaiting(noting, lease, commits, { runId: "m", attempt: 1, deadline: 1000 });
    expect(await refused).toMatchObject({ owner: "holder" });
    const taken = await commitEntry(table, lease, message("m"), []);
    if (kind === "waiting") await commit(table, lease, [assign("run", run)], { commits: taken.commits });
    await expect(carryOutAgain()).rejects.toThrow("condition");
    expect(await readSession(table, sessionKey)).toMatchObject({ owner: "holder" });
  },
);

it("an acquire whose response was lost finds its own lease, and no other", async () => {
  const table = createMemoryTable();
  await appendEntry(table, sessionKey, message("m"), 0);
  const twice: Table = {
    ...table,
    async update(...write) {
      await table.update(...write);
      return table.update(...write);
    },
  };
  expect(await acquire(twice, sessionKey, "holder", 0)).toMatchObject({ lease: { sessionKey, epoch: 1 } });
  expect(await acquire(table, sessionKey, "other", 0)).toBeUndefined();
  expect(await acquire(table, "agent:main:none", "other", 0)).toBeUndefined();
});

it("a renewed lease lasts as long as a new one", async () => {
  const { table, lease } = await heldSession();
  await renew(table, lease, 20_000);
  expect(await acquire(table, sessionKey, "other", 20_000 + leaseMs)).toBeUndefined();
  expect(await acquire(table, sessionKey, "other", 20_001 + leaseMs)).toMatchObject({ lease: { epoch: 2 } });
});

it("two messages that create a session at the same time are both accepted", async () => {
  const table = createMemoryTable();
  const put: Table["put"] = async (...write) => {
    await appendEntry(table, sessionKey, message("first"), 0);
    return table.put(...write);
  };
  expect(await appendEntry({ ...table, put }, sessionKey, message("second"), 0)).toMatchObject({
    ...{ accepted: true, state: { inbox: [{ id: "first" }, { id: "second" }] } },
  });
});
