import { afterAll, beforeAll, expect, it } from "vitest";
import { readOutcomes, recordResult } from "../../shared/session/calls.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import { metaKey } from "../../shared/session/state.ts";
import { set } from "../../shared/world/expression.ts";
import type { Table } from "../../shared/world/world.ts";
import { imageBytes } from "../support/images.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

const data = imageBytes().toString("base64");
const outcome = { result: { content: [{ type: "image", mimeType: "image/png", data }] } };

/** A session whose run waits for one call of the node `laptop`. */
async function waitingSession(name: string) {
  const address = { sessionKey: `agent:main:${name}`, runId: "run", step: 0, callId: "call" };
  const origin = { kind: "client" } as const;
  await appendEntry(
    state.table,
    address.sessionKey,
    { id: "run", at: 1, origin, kind: "message", text: "x" },
    1,
  );
  const pending = { call: { nodeId: "laptop", tool: "laptop__Read" } };
  const run = { runId: "run", phase: "tools", step: 0, attempt: 1, startedAt: 1, pending, pendingCount: 1 };
  await state.table.update(metaKey(address.sessionKey), [set("run", run)]);
  return address;
}

/** The table, whose n-th write fails as it does when the function dies there. */
function failingAt(table: Table, n: number): Table {
  let writes = 0;
  const counted =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (writes++ === n) throw new Error("the function died");
      return write(...args);
    };
  return { ...table, put: counted(table.put), update: counted(table.update) };
}

it("stores a result's image once, whichever write the first try died at", async () => {
  for (const n of [0, 1]) {
    const address = await waitingSession(`died-${n}`);
    const bucket = createMemoryBucket();
    const first = recordResult({ table: failingAt(state.table, n), bucket }, address, "laptop", outcome, 5);
    await expect(first).rejects.toThrow("the function died");
    expect(bucket.keys()).toHaveLength(1);
    const again = await recordResult({ table: state.table, bucket }, address, "laptop", outcome, 6);
    expect(again.status).toBe("recorded");
    expect(bucket.keys()).toHaveLength(1);
    const store = { table: state.table, bucket };
    const outcomes = await readOutcomes(store, address.sessionKey, { runId: "run", step: 0 }, [
      { id: "call" },
    ] as never);
    const [r2Key] = bucket.keys();
    expect(outcomes.get("call")).toEqual({
      result: {
        content: [
          { type: "image", mimeType: "image/png", r2Key, size: 64 },
          { type: "text", text: `[image: image/png, 64 bytes, ${r2Key}]` },
        ],
      },
    });
  }
});

it("stores nothing of a result that nobody waits for, or that comes from another node", async () => {
  const address = await waitingSession("unasked");
  const bucket = createMemoryBucket();
  const store = { table: state.table, bucket };
  const { status } = await recordResult(store, address, "server", outcome, 5);
  expect(status).toBe("unknown");
  const late = await recordResult(store, { ...address, callId: "other" }, "laptop", outcome, 5);
  expect(late.status).toBe("dropped");
  expect(bucket.keys()).toEqual([]);
});
