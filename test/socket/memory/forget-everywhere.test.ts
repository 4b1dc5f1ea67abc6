import { createHash } from "node:crypto";
import { gunzipSync, gzipSync, inflateSync } from "node:zlib";
import { beforeEach, expect, it } from "vitest";
import type { Gateway } from "../../../functions/socket/gateway.ts";
import { memoryMethods } from "../../../functions/socket/methods/memory.ts";
import { recallEvent, recordRecall } from "../../../shared/dreaming/recall-events.ts";
import { commitWorkspace } from "../../../shared/git/workspace-commit.ts";
import { openMemories } from "../../../shared/memory/memories.ts";
import { memoryId } from "../../../shared/memory/memory-line.ts";
import { storeText } from "../../../shared/objects/text-store.ts";
import { createSegments } from "../../../shared/recall/segments.ts";
import { putCompactionText } from "../../../shared/session/compaction-text.ts";
import { patchSession } from "../../../shared/session/sessions.ts";
import { openWorkspace } from "../../../shared/workspace/workspace-files.ts";
import { immortal, type Life, mortal } from "../../agent/bench.ts";
import { type MemoryState, startState } from "../../support/state.ts";

const memory = "Max takes 20 mg of fluoxetine";
const id = memoryId(memory);
const now = Date.parse("2026-05-05T08:00:00Z");
const segment = "agents/main/recall/2026-q2.1.json.gz";
let state: MemoryState;

/** A memory in a file and its history, and every copy of it. */
beforeEach(async () => {
  state = await startState();
  const { table, bucket } = state;
  await bucket.put("agents/main/MEMORY.md", `- ${memory}\n- tea\n`);
  await commitWorkspace(bucket, "main", { at: now, message: "before" } as never);
  for (const text of [`# Prompt\n\n- ${memory}\n- tea\n`, "# Prompt\n\n- tea\n"])
    await storeText(bucket, "main", { hash: createHash("sha256").update(text).digest("hex"), text });
  const turn = (n: number, text: string) => ({ n, ts: now, role: "user" as const, text });
  const about = { sessionKey: "agent:main:main", sessionId: "0b9e2c3a", at: now };
  await bucket.put("agents/main/sessions/0b9e2c3a.jsonl.gz", "");
  const turns = [turn(1, memory), turn(2, `I know: ${memory}!`), turn(3, "tea")];
  await createSegments(bucket).add("main", {
    archives: [{ archive: "0b9e2c3a", ...about, turns }],
    notes: {
      "memory/2026-02-01.md": {
        etag: "old",
        text: `- ${memory}
`,
      },
    },
  });
  // As an earlier release leaves it.
  const former = { v: 1, agentId: "main", ...about, sessionId: "5d1f", turns };
  await bucket.put("agents/main/sessions/5d1f.jsonl.gz", "");
  await bucket.put("agents/main/recall/s/5d1f.json.gz", gzipSync(JSON.stringify(former)));
  const index = {
    v: 1,
    notes: {
      "memory/2026-05-02.md": {
        etag: "old",
        text: `- ${memory}
`,
      },
    },
  };
  await bucket.put("agents/main/recall/notes.json.gz", gzipSync(JSON.stringify(index)));
  await patchSession(table, "agent:main:main", { label: "x" }, now);
  await putCompactionText(table, "agent:main:main", now, {
    summary: `They said: ${memory}`,
    memories: `- ${memory}`,
  });
  const found = { id, places: [{ path: "MEMORY.md", line: 1 }], rank: 1 };
  await recordRecall(table, "main", recallEvent("call", `Is it true that ${memory}?`, now, [found]));
});

async function forget({ table, bucket }: MemoryState, life: Life = immortal()) {
  const stores = { table: mortal(table, "table", life), bucket: mortal(bucket, "bucket", life) };
  const memories = openMemories({ ...stores, workspace: openWorkspace(stores.bucket) });
  const gateway = {
    ...{ ...stores, now: () => now, memories: async () => memories },
    configuration: { load: async () => ({ agents: { list: [] }, userTimezone: "UTC" }) },
  } as unknown as Gateway;
  const { handle } = memoryMethods["memory.forget"];
  return handle(gateway, { id, everywhere: true } as never, {} as never);
}

/** Everything that is stored and contains a text, inflated: the keys of objects, and items. */
async function containing({ objects, bucket, items }: MemoryState, text: string): Promise<string[]> {
  const inflate = (bytes: Buffer) =>
    bytes[0] === 0x1f ? gunzipSync(bytes) : bytes[0] === 0x78 ? inflateSync(bytes) : bytes;
  const bodies = objects.keys().map(async (key) => {
    const body = inflate(Buffer.from((await bucket.get(key))!.body));
    return body.includes(text) ? [key] : [];
  });
  const ofItems = items().flatMap((item) => {
    const json = JSON.stringify(item);
    return json.includes(text) ? [json] : [];
  });
  return [...(await Promise.all(bodies)).flat(), ...ofItems];
}

it("a memory that is forgotten everywhere is in no stored byte, and what was next to it stays", async () => {
  expect((await containing(state, memory)).length).toBeGreaterThan(5);
  expect(await forget(state)).toEqual({ id, files: ["MEMORY.md"], commits: 1, copies: 5 });
  expect(await containing(state, memory)).toEqual([]);
  expect((await containing(state, "tea")).length).toBeGreaterThan(3);
  expect(await containing(state, "They said: ")).toHaveLength(1);
  expect(await containing(state, "I know: !")).toEqual([segment]);
});

it("a deletion that died at any call and is repeated erases the same", async () => {
  const whole = immortal();
  await forget(state.copy(), whole);
  for (let left = 0; left < whole.calls.length; left++) {
    const dying = state.copy();
    await expect(forget(dying, { left, calls: [] })).rejects.toThrow();
    // The last call of the first attempt may have erased the last copy.
    await forget(dying).catch((error: unknown) => expect(error).toMatchObject({ code: 404 }));
    expect([left, await containing(dying, memory)]).toEqual([left, []]);
  }
});
