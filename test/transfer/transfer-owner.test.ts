import { expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { metaKey, newSession } from "../../shared/session/state.ts";
import { parseEnds } from "../../shared/transfer/transfer-endpoint.ts";
import { answerOwner } from "../../shared/transfer/transfer-owner.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";

it("the end of a transfer wakes the session whose last call it answers, and no other", async () => {
  const [table, sessionKey] = [createMemoryTable(), "agent:main:waiting"];
  const call = { nodeId: "n", tool: "t" };
  const waiting = { pending: { c: call, d: call }, pendingCount: 2, results: {}, resultBytes: 0 };
  const run = { runId: "r", step: 0, phase: "tools", ...waiting };
  await table.put({ ...metaKey(sessionKey), ...(newSession(sessionKey, "s", 1) as object), run });
  const woken: string[] = [];
  const wake = async (key: string) => void woken.push(key);
  const world = { table, bucket: createMemoryBucket(), wake, now: () => 1 };
  const ends = parseEnds({ source: "laptop:/a", destination: "pi:/b", agentId: "main" });
  const answer = (callId: string) => {
    const owner = { kind: "call", address: { sessionKey, runId: "r", step: 0, callId }, nodeId: "n" };
    return answerOwner(world as never, { ...ends, step: "done", size: 5, owner } as never);
  };
  await answer("c");
  expect(woken).toEqual([]);
  await answer("d");
  expect(woken).toEqual([sessionKey]);
  const { results } = (await table.get(metaKey(sessionKey)))!.run as { results: { d: string } };
  const result = { source: "laptop:/a", destination: "pi:/b", bytesTransferred: 5 };
  expect(JSON.parse(results.d)).toEqual({ result: { ok: true, result }, origins: [] });
});
