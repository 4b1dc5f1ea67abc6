import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Gateway } from "../../../../functions/socket/gateway.ts";
import { memoryMethods } from "../../../../functions/socket/methods/memory.ts";
import { commitWorkspace } from "../../../../shared/git/workspace-commit.ts";
import { openMemories } from "../../../../shared/memory/memories.ts";
import { openRecall } from "../../../../shared/recall/recall.ts";
import { createSegments } from "../../../../shared/recall/segments.ts";
import {
  claimExtraction,
  endExtraction,
  queueExtraction,
  retryExtraction,
  startableExtractions,
} from "../../../../shared/session/extraction.ts";
import { openWorkspace } from "../../../../shared/workspace/workspace-files.ts";
import { type State, startState } from "../../../support/state.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { gsv } from "../../run-gsv.ts";

let state: State;
let gateway: FakeGateway;
const now = Date.parse("2026-05-05T08:00:00Z");

beforeEach(async () => {
  state = await startState();
  const { table, bucket } = state;
  const memories = openMemories({ table, bucket, workspace: openWorkspace(bucket) });
  const on = {
    ...{
      table,
      bucket,
      now: () => now,
      memories: async () => memories,
      recall: async () => openRecall({ table, bucket }),
    },
    configuration: { load: async () => ({ agents: { list: [] }, userTimezone: "UTC" }) },
  };
  const handlers = Object.entries(memoryMethods).map(([method, { handle }]) => [
    method,
    ({ params }: { params: unknown }) => handle(on as unknown as Gateway, params as never, {} as never),
  ]);
  gateway = await startFakeGateway(Object.fromEntries(handlers));
});
afterEach(async () => {
  await gateway.close();
  await state.close();
});

const run = (...args: string[]) =>
  gsv(["memory", ...args], { env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });
const idOf = async (word: string) => /^[0-9a-f]{16}/m.exec((await run("list", word)).stdout)?.[0] ?? "";
const put = (path: string, text: string) => state.bucket.put(`agents/main/${path}`, text);
const read = async (path: string) =>
  Buffer.from((await state.bucket.get(`agents/main/${path}`))?.body ?? "").toString();

describe("gsv memory", () => {
  it("says which commands write memories when there are none", async () => {
    expect((await run("list")).stdout).toContain("resets, compactions and");
  });

  it("says how the last extraction stands", async () => {
    const from = { sessionKey: "agent:main:main", sessionId: "s", archive: "a", at: 1 };
    await queueExtraction(state.table, { ...from, queuedAt: now - 60_000 }, now);
    await queueExtraction(state.table, { ...from, queuedAt: now }, now);
    const last = "last extraction, of 2026-05-05 08:00 in agent:main:main:";
    expect((await run("list")).stdout).toContain(`${last} pending\n`);
    const [, queued] = await startableExtractions(state.table, from.sessionKey, now);
    const held = (await claimExtraction(state.table, queued!, now))!;
    await retryExtraction(state.table, held, "no key", now + 60_000);
    expect((await run("list")).stdout).toContain(
      `${last} pending: no key; next attempt 2026-05-05 08:01 UTC\n`,
    );
    await endExtraction(state.table, held, { state: "done", count: 2 }, now);
    expect((await run("list")).stdout).toContain(`${last} done: 2 memories\n`);
  });

  it("adds, finds and explains a memory", async () => {
    await put("MEMORY.md", "- The boiler is in the cellar\n");
    expect((await run("add", "Ada", "drinks", "tea")).stdout).toMatch(/^remembered [0-9a-f]{16}\n$/);
    const { stdout } = await run("list");
    expect(stdout).toMatch(/\n[0-9a-f]{16} +MEMORY.md +The boiler is in the cellar\n/);
    expect(stdout).toMatch(/\n[0-9a-f]{16} +2026-05-05 08:00 you +Ada drinks tea\n$/);
    expect((await run("list", "what", "does", "Ada", "drink?")).stdout).not.toContain("boiler");
    const why = (await run("why", await idOf("tea"))).stdout;
    expect(why).toBe(
      "Ada drinks tea\n  in memory/2026-05-05.md, line 1\n  you wrote it, 2026-05-05 08:00 UTC\n",
    );
    expect((await run("why", await idOf("boiler"))).stdout).toContain("its origin is not recorded");
    expect((await run("why", "0".repeat(16))).stderr).toContain("gsv memory list");
  });

  it("corrects a memory", async () => {
    await put("MEMORY.md", "- Ada drinks coffee\n");
    const { stdout } = await run("correct", await idOf("coffee"), "Ada", "drinks", "tea");
    expect(stdout).toMatch(/^struck out in MEMORY.md; replaced by [0-9a-f]{16} Ada drinks tea\n$/);
    expect(await read("MEMORY.md")).toBe("- ~~Ada drinks coffee (until 2026-05)~~\n");
  });

  it("forgets a memory, and reports where its text remains", async () => {
    await put("MEMORY.md", "- the code is 4711\n- x\n");
    await commitWorkspace(state.bucket, "main", { message: "a", at: now });
    const id = await idOf("4711");
    const { stdout } = await run("forget", id);
    expect(stdout).toContain(
      "forgotten: removed from MEMORY.md\nThe history of the workspace and stored prompts still contain it",
    );
    expect(await read("MEMORY.md")).toBe("- x\n");
    const segments = createSegments(state.bucket);
    const stale = { etag: "old", text: "- the code is 4711\n" };
    await segments.add("main", { notes: { "memory/2026-01-01.md": stale } });
    const everywhere = (await run("forget", id, "--everywhere")).stdout;
    expect(everywhere).toContain(
      "forgotten: it was in no file\n1 commits of the history were rewritten without it, and 1 prompts and search files.",
    );
    expect((await segments.read("main")).map(({ notes }) => notes)).toEqual([{}]);
    expect((await run("forget", id, "--everywhere")).stderr).toContain("has no memory");
    expect((await run("forget", "nonsense")).stderr).toContain("16 hex digits");
  });
});
