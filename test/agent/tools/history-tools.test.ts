import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { memoryHistory } from "../../../functions/agent/tools/native/history-tools.ts";
import { listCommits } from "../../../shared/git/commits.ts";
import { openRepository } from "../../../shared/git/repository.ts";
import { commitWorkspace } from "../../../shared/git/workspace-commit.ts";
import { createMemoryBucket } from "../../support/memory-bucket.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

let state: State;
let model: ModelServer;
let bench: Bench;
let reply: Reply;
let messages = 0;

beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer(({ turns }) => (turns.at(-1)?.role === "tool" ? { text: "done" } : reply));
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
});
beforeEach(async () => {
  bench.configuration.workspaceGit = { enabled: true, tools: true };
  await state.bucket.put("agents/main/MEMORY.md", "- likes tea\n");
});
afterAll(async () => {
  await model.close();
  await state.close();
});

/** The result of a tool call in a session, as the model sees it. */
async function used(sessionKey: string, name: string, args: object): Promise<string> {
  reply = { toolCalls: [{ name, arguments: JSON.stringify(args) }] };
  const entry = { id: `m${++messages}`, at: Date.now(), kind: "message", text: "go" } as const;
  await bench.submit(sessionKey, { ...entry, origin: { kind: "client" } });
  await holdSession(bench.agent(), sessionKey, () => 900_000);
  return model.requests.at(-1)?.turns.at(-1)?.text ?? "";
}

const result = async (name: string, args: object) =>
  JSON.parse(await used("agent:main:main", name, args)).result;

describe("the agent's tools for its history", () => {
  it("I44: commit with a note, and list the commits with what they changed", async () => {
    const first = await result("gsv__memory_checkpoint", { note: "tea" });
    expect(first).toMatchObject({ skipped: false });
    await state.bucket.put("agents/main/MEMORY.md", "- likes coffee\n");
    await used("agent:main:main", "gsv__memory_checkpoint", { note: "coffee" });
    const args = { limit: 1, include_diff: true };
    const { commits } = await result("gsv__memory_history", args);
    expect(commits).toMatchObject([
      {
        message: "checkpoint: coffee",
        files: [{ path: "MEMORY.md", change: "changed" }],
        diff: expect.stringContaining("-- likes tea\n+- likes coffee"),
      },
    ]);
    expect(commits).toHaveLength(1);
    const all = await result("gsv__memory_history", {});
    expect(all.commits.at(-1)).toMatchObject({ sha: first.sha, message: "checkpoint: tea" });
    expect(all.commits[0]).not.toHaveProperty("diff");
  });

  it("read each commit equally often for any length of the history", async () => {
    const bucket = createMemoryBucket();
    const turn = { agentId: "main", audience: "main" };
    const readsOf = async (limit: number) => {
      bucket.resetCounters();
      await memoryHistory.run({ limit, include_diff: true } as never, { agent: { bucket }, turn } as never);
      return bucket.downloads.length;
    };
    for (let i = 0; i < 40; i++) {
      await bucket.put("agents/main/SOUL.md", `version ${i}\n`);
      await commitWorkspace(bucket, "main", { message: "x", at: 1000 * i });
    }
    const [few, many] = [await readsOf(10), await readsOf(20)];
    expect(many).toBeLessThanOrEqual(2 * few);
  });

  it("I44: refuse a limit above 100", async () => {
    expect(await used("agent:main:main", "gsv__memory_history", { limit: 101 })).toContain("limit");
  });

  it("show the history only to the main conversation, because it contains MEMORY.md", async () => {
    const commits = () => listCommits(openRepository(state.bucket, "main"), 100);
    const before = await commits();
    for (const [name, args] of [
      ["gsv__memory_history", {}],
      ["gsv__memory_checkpoint", { note: "x" }],
    ] as const) {
      expect(await used("agent:main:notes", name, args)).toContain("only the main conversation may read it");
      expect(await used("agent:main:telegram:group:1", name, args)).not.toContain("likes");
    }
    expect(await commits()).toEqual(before);
  });

  it("I41: are offered only if the settings say so", async () => {
    expect(await used("agent:main:main", "gsv__memory_history", {})).toContain("commits");
    for (const settings of [
      { enabled: true, tools: false },
      { enabled: false, tools: true },
    ]) {
      bench.configuration.workspaceGit = settings;
      expect(await used("agent:main:main", "gsv__memory_history", {})).not.toContain("commits");
    }
  });
});
