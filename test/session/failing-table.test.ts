import { expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { expireCalls, extendWait, putIntent, putOutcome, recordResult } from "../../shared/session/calls.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import * as leases from "../../shared/session/lease.ts";
import { newRun, waitingFor } from "../../shared/session/run.ts";
import { patchSession } from "../../shared/session/sessions.ts";
import { assign, metaKey } from "../../shared/session/state.ts";
import { requestStop } from "../../shared/session/stop.ts";
import { writeMessages } from "../../shared/session/transcript.ts";
import { ConditionFailed, type Table } from "../../shared/world/world.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";

const sessionKey = "agent:main:failing";
const entry = { id: "m", at: 0, origin: { kind: "client" }, kind: "message", text: "" } as const;
const run = waitingFor(newRun(entry, 1, 0), { call: { nodeId: "n", tool: "t" } }, 1000);
const address = { sessionKey, runId: run.runId, step: run.step, callId: "call" };
const schedules = { once: async () => {} };
const large = { result: "x".repeat(10_000) };

interface Held {
  table: Table;
  lease: leases.Lease;
}

/** A held session whose run waits for a call. */
async function heldSession(): Promise<Held> {
  const table = createMemoryTable();
  await appendEntry(table, sessionKey, entry, 0);
  const { lease } = (await leases.acquire(table, sessionKey, "holder", 0))!;
  await leases.commitEntry(table, lease, entry, [assign("run", run)]);
  return { table, lease };
}

const store = (table: Table) => ({ table, bucket: createMemoryBucket() });
const late = leases.leaseMs + 1;
const writes: Record<string, (held: Held) => Promise<unknown>> = {
  acquire: ({ table }) => leases.acquire(table, sessionKey, "other", late),
  renew: ({ table, lease }) => leases.renew(table, lease, 0),
  commit: ({ table, lease }) => leases.commit(table, lease, [], { commits: 1 }),
  commitEntry: ({ table, lease }) => leases.commitEntry(table, lease, entry, []),
  commitRunEnd: ({ table, lease }) => leases.commitRunEnd(table, lease, run.runId, []),
  releaseIdle: ({ table, lease }) => leases.releaseIdle(table, lease, 1),
  releaseWaiting: ({ table, lease }) =>
    leases.releaseWaiting(table, lease, 1, { runId: "m", attempt: 1, deadline: 1000 }),
  releaseUntil: ({ table, lease }) => leases.releaseUntil(table, lease, 1, 1000),
  releaseUnfinished: ({ table, lease }) => leases.releaseUnfinished(table, lease, 0),
  appendEntry: ({ table }) => appendEntry(table, sessionKey, { ...entry, id: "n" }, 0),
  "appendEntry to a new session": ({ table }) => appendEntry(table, `${sessionKey}:new`, entry, 0),
  patchSession: ({ table }) => patchSession(table, sessionKey, { label: "x" }, 0),
  "patchSession of a new session": ({ table }) => patchSession(table, `${sessionKey}:new`, {}, 0),
  requestStop: ({ table }) => requestStop(table, sessionKey, "stop", 0),
  "recordResult of a small result": ({ table }) => recordResult(store(table), address, "n", {}, 0),
  "recordResult of a large result": ({ table }) => recordResult(store(table), address, "n", large, 0),
  putOutcome: ({ table }) => putOutcome(store(table), address, {}, 0),
  putIntent: ({ table }) => putIntent(table, address, 0),
  expireCalls: ({ table }) => expireCalls(table, sessionKey, run, 0),
  extendWait: ({ table }) => extendWait({ table, schedules }, address, { atLeast: 1001, until: 2000 }),
  writeMessages: ({ table, lease }) =>
    writeMessages(store(table), lease, "id", 1, [{ role: "user", content: "x", timestamp: 0 }]),
};

it.each(Object.keys(writes))(
  "%s does not mistake another failure of the table for a lost race",
  async (name) => {
    const held = await heldSession();
    for (const failing of ["update", "put"] as const) {
      let failed = 0;
      const fail = async () => {
        failed++;
        throw new Error("throttled");
      };
      const { table } = held;
      // A missing session is created only when it cannot be changed.
      const isNew = name.includes("new session") && failing === "put";
      const update = isNew ? { update: () => Promise.reject(new ConditionFailed()) } : {};
      const result = writes[name]!({ ...held, table: { ...table, ...update, [failing]: fail } });
      if (
        await result.then(
          () => failed > 0,
          () => false,
        )
      )
        throw new Error(`${failing} failed unnoticed`);
      if (failed > 0) await expect(result).rejects.toThrow("throttled");
    }
  },
);

it.each([
  "renew",
  "commit",
  "commitEntry",
  "commitRunEnd",
  "releaseIdle",
  "releaseWaiting",
  "releaseUntil",
  "releaseUnfinished",
])("%s of a session that another invocation holds is refused as a lost lease", async (name) => {
  const held = await heldSession();
  await leases.acquire(held.table, sessionKey, "other", late);
  const before = await held.table.get(metaKey(sessionKey));
  await expect(writes[name]!(held)).rejects.toThrow(leases.LeaseLost);
  expect(await held.table.get(metaKey(sessionKey))).toEqual(before);
});

it("a message does not overwrite that of a newer holder, but overwrites that of an older one", async () => {
  const { table, lease } = await heldSession();
  const newer = (await leases.acquire(table, sessionKey, "other", late))!.lease;
  const write = (by: leases.Lease, content: string) =>
    writeMessages(store(table), by, "id", 1, [{ role: "user", content, timestamp: 0 }]);
  await write(lease, "old");
  await write(newer, "new");
  await expect(write(lease, "late")).rejects.toThrow(leases.LeaseLost);
  expect(JSON.stringify(await table.query({ pk: `S#${sessionKey}`, prefix: "M#" }))).toContain("new");
});
