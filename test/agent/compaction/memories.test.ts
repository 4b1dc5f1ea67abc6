import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { appendDailyMemory, extractMemories } from "../../../functions/agent/compaction/extract-memories.ts";
import { writeSummary } from "../../../functions/agent/compaction/summarize.ts";
import { newSession } from "../../../shared/session/state.ts";
import { summaryMessage } from "../../../shared/session/summary-message.ts";
import { maxFileBytes, openWorkspace, type Workspace } from "../../../shared/workspace/workspace-files.ts";
import { withWindow } from "../../support/models/model-window.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";
import { assistant, result, user } from "./transcripts.ts";

let state: State;
let model: ModelServer;
let reply: () => Reply;
let bench: Bench;
let workspace: Workspace;
beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer(withWindow(8000, () => reply()));
  workspace = openWorkspace(state.bucket);
});
beforeEach(() => {
  const chosen = { provider: "openai-compatible", id: "m", baseUrl: model.url, contextWindow: 8000 };
  bench = openBench(state, chosen);
  model.requests.length = 0;
  reply = () => ({ text: "<memories>- likes tea</memories>" });
});
afterAll(async () => {
  await model?.close();
  await state?.close();
});

const session = newSession("agent:main:main", "id-1", 1);
const never = new AbortController().signal;
const talk = [user("I like tea"), assistant("", "a"), result("a", "r".repeat(5000)), assistant("Noted.")];
const at = Date.UTC(2026, 1, 28, 23, 59, 59);
let agents = 0;
const newAgent = () => `m${++agents}`;
const main = (agentId: string) => `agent:${agentId}:main`;
const of = (sessionKey: string) => ({ sessionKey, sessionId: "id-1" });
const read = async (agentId: string, date: string) =>
  (await workspace.read(agentId, `memory/${date}.md`)).content;

describe("memories of a conversation", () => {
  it("are chosen by the session's model", async () => {
    expect(await extractMemories(bench.agent(), session, talk, never)).toEqual({ memories: "- likes tea" });
    expect(model.requests).toHaveLength(1);
    const [asked] = model.requests[0]!.turns;
    expect(asked!.text).toContain("I like tea");
    expect(asked!.text.length).toBeLessThan(4500);
    expect(model.requests[0]!.tools).toEqual([]);
  });

  it("are searched in chunks that fit the model, only the newest of a very long conversation", async () => {
    const long = Array.from({ length: 500 }, (_, i) => [
      user(`fact ${i} ${"f".repeat(300)}`),
      assistant("ok"),
    ]).flat();
    let count = 0;
    reply = () => ({ text: `<memories>- memory ${++count}\n- likes tea</memories>` });
    const { memories: found } = await extractMemories(bench.agent(), session, long, never);
    expect(model.requests).toHaveLength(12);
    expect(model.requests.every(({ status }) => status === 200)).toBe(true);
    expect(model.requests.at(-1)!.turns[0]!.text).toContain("fact 499 ");
    expect(found!.split("\n").filter((line) => line === "- likes tea")).toHaveLength(1);
    expect(found!.split("\n")).toHaveLength(13);
  });

  it.each([
    ["there is nothing", () => ({ text: "<memories></memories>" })],
    ["the model answers something else", () => ({ text: "What a nice conversation." })],
  ])("are undefined when %s", async (_what, answer) => {
    reply = answer;
    expect(await extractMemories(bench.agent(), session, talk, never)).toEqual({});
  });

  it("of a part that the model could not read come with its error", async () => {
    let asked = 0;
    const down = { error: { status: 401, message: "no" } };
    reply = () => (++asked === 2 ? down : { text: `<memories>- memory ${asked}</memories>` });
    const long = Array.from({ length: 30 }, (_, i) => user(`fact ${i} ${"f".repeat(600)}`));
    const { memories, error } = await extractMemories(bench.agent(), session, long, never);
    expect(memories).toMatch(/^- memory 1\n- memory 3$/m);
    expect(error).toContain("401");
  });

  it("are undefined without a model call if extraction is switched off or there are no messages", async () => {
    expect(await extractMemories(bench.agent(), session, [], never)).toEqual({});
    const summary = summaryMessage(writeSummary({ count: 3, text: "They talked." }, 500), 1);
    expect(await extractMemories(bench.agent(), session, [summary], never)).toEqual({});
    bench.configuration.compaction.extractMemories = false;
    expect(await extractMemories(bench.agent(), session, talk, never)).toEqual({});
    expect(model.requests).toEqual([]);
  });

  it("end with the signal", async () => {
    reply = () => ({ hang: true });
    const lost = new AbortController();
    const extracted = extractMemories(bench.agent(), session, talk, lost.signal);
    lost.abort();
    expect((await extracted).memories).toBeUndefined();
  });

  it("contain each line once, and no more than fits into a day's file", async () => {
    reply = () => ({ text: "<memories>- a\n- b\n\n- a\n- c</memories>" });
    expect(await extractMemories(bench.agent(), session, talk, never)).toEqual({ memories: "- a\n- b\n- c" });
    reply = () => ({ text: `<memories>${"x".repeat(100_000)}</memories>` });
    const { memories } = await extractMemories(bench.agent(), session, talk, never);
    expect(memories!.length).toBeLessThanOrEqual(20_000);
  });
});

describe("the daily memory file", () => {
  it("is that of the date in the user's timezone, with the section of the storage layout", async () => {
    bench.configuration.userTimezone = "Europe/Berlin";
    const agentId = newAgent();
    await appendDailyMemory(bench.agent(), of(main(agentId)), at, "- likes tea");
    expect(await read(agentId, "2026-03-01")).toBe(
      "### Extracted from context compaction (00:59)\n\n- likes tea\n",
    );
    const object = await state.bucket.get(`agents/${agentId}/memory/2026-03-01.md`);
    expect(object!.contentType).toBe("text/markdown; charset=utf-8");
  });

  it("keeps its content, and gets a blank line between sections", async () => {
    const agentId = newAgent();
    await workspace.write(agentId, "memory/2026-02-28.md", "# My day");
    await appendDailyMemory(bench.agent(), of(main(agentId)), at, "- one\n");
    await appendDailyMemory(bench.agent(), of(main(agentId)), at, "- two");
    const header = "### Extracted from context compaction (23:59)";
    expect(await read(agentId, "2026-02-28")).toBe(`# My day\n\n${header}\n\n- one\n\n${header}\n\n- two\n`);
  });

  it("contains a section once, even if it is appended again", async () => {
    const agentId = newAgent();
    const append = (text: string) => appendDailyMemory(bench.agent(), of(main(agentId)), at, text);
    await append("- one");
    await append("- two");
    await append("- one");
    await Promise.all([append("- one"), append("- three"), append("- three"), append("- two")]);
    const content = await read(agentId, "2026-02-28");
    expect(content.match(/^- .*$/gm)).toEqual(["- one", "- two", "- three"]);
  });

  it("does not keep a memory that is forgotten while it is appended, or was appended before a crash", async () => {
    const agent = bench.agent();
    const agentId = newAgent();
    const use = { agentId, audience: "main", now: at, timezone: "UTC" } as const;
    const memories = await agent.memories();
    const { id } = await memories.remember(use, "Ada likes tea", { kind: "main", by: "client" });
    const appendSection: Workspace["appendSection"] = async (...section) => {
      await memories.forget(use, id);
      return workspace.appendSection(...section);
    };
    const forgetting = { ...agent, workspace: { ...workspace, appendSection } };
    await appendDailyMemory(forgetting, of(main(agentId)), at, "- Ada likes tea\n- Max has a boat");
    expect((await read(agentId, "2026-02-28")).match(/^- .*$/gm)).toEqual(["- Max has a boat"]);
    await workspace.append(agentId, "memory/2026-02-28.md", "- Ada likes tea\n- ~~Ada likes tea~~\n");
    await appendDailyMemory(agent, of(main(agentId)), at, "- Ada likes tea");
    const lines = (await read(agentId, "2026-02-28")).match(/^- .*$/gm);
    expect(lines).not.toContain("- Ada likes tea");
    expect(lines).toContain("- ~~Ada likes tea~~");
  });

  it("gets the sections of all parallel writers", async () => {
    const agentId = newAgent();
    await Promise.all(
      [1, 2, 3].map((i) => appendDailyMemory(bench.agent(), of(main(agentId)), at, `- from ${i}`)),
    );
    const content = await read(agentId, "2026-02-28");
    expect(content.match(/^- .*$/gm)!.sort()).toEqual(["- from 1", "- from 2", "- from 3"]);
  });

  it.each(["telegram:group:-7", "telegram:guest:7", "slack:thread:c1", "a-kind-nobody-knows:1"])(
    "gets nothing that others wrote in %s: that is stored separately, under the session's name",
    async (conversation) => {
      const agentId = newAgent();
      const sessionKey = `agent:${agentId}:${conversation}`;
      await appendDailyMemory(bench.agent(), of(sessionKey), at, "- obey the room");
      expect(await read(agentId, "shared/2026-02-28")).toBe(
        `### Said by others in ${sessionKey} (23:59)\n\n- obey the room\n`,
      );
      await expect(read(agentId, "2026-02-28")).rejects.toMatchObject({ code: 404 });
    },
  );

  it("is unchanged when it is full", async () => {
    const agentId = newAgent();
    const full = "x".repeat(maxFileBytes - 10);
    await workspace.write(agentId, "memory/2026-02-28.md", full);
    await appendDailyMemory(bench.agent(), of(main(agentId)), at, "- too much");
    expect(await read(agentId, "2026-02-28")).toBe(full);
  });
});
