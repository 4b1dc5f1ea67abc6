import type { Message } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { readSummaryMessage } from "../../../shared/session/summary-message.ts";
import { isReading, type WindowedScript, withWindow } from "../../support/models/model-window.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type MemoryState, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";
import { assistant, result, user } from "./transcripts.ts";

export const contextWindow = 8000;

/** A session of a separate agent for each test, and a model of 8,000 tokens with the test's replies. */
export interface CompactionBench extends Bench {
  store: MemoryState;
  model: ModelServer;
  script: WindowedScript;
  /** Canonical key of the session. */
  key: string;
  reply(request: ModelRequest): Reply | Promise<Reply>;
  /** Model calls that continue the conversation, and those that read it. */
  conversation(): ModelRequest[];
  readings(): ModelRequest[];
  /** All messages, from the archives and the table, in order. */
  said(): Promise<Message[]>;
  /** The daily memory files of the agent. */
  memories(): Promise<string>;
}

export interface CompactionStack {
  /** Starts a test. */
  bench(): CompactionBench;
  /** A bench like this one in another state, where these frames were posted. */
  over(bench: CompactionBench, state: MemoryState, posted: Bench["posted"]): CompactionBench;
  close(): Promise<void>;
}

export const summaryReply = { text: "<summary>They counted.</summary>\n<memories>- counts a lot</memories>" };

export async function startCompactionStack(): Promise<CompactionStack> {
  const store = await startState();
  let current: CompactionBench | undefined;
  let sessions = 0;
  const script = withWindow(contextWindow, (request) => current!.reply(request));
  const model = await startOpenAiServer(script);
  const benchOver = (store: MemoryState, key: string): CompactionBench => {
    script.refused = 0;
    script.sizes.length = 0;
    model.requests.length = 0;
    const chosen = { provider: "openai-compatible", id: "m", baseUrl: model.url, contextWindow };
    const opened = openBench(store, chosen);
    const bench: CompactionBench = Object.assign(opened, {
      ...{ store, model, script, key },
      reply: (request: ModelRequest) => (isReading(request) ? summaryReply : { text: "the answer" }),
      conversation: () => model.requests.filter((request) => !isReading(request)),
      readings: () => model.requests.filter(isReading),
      async said() {
        const all = [...(await opened.parts(bench.key)).flat(), ...(await opened.live(bench.key))];
        return all.filter((one) => !readSummaryMessage(one));
      },
      async memories() {
        const { objects } = await store.bucket.list(`agents/${bench.key.split(":")[1]}/memory/`);
        const files = await Promise.all(objects.map(({ key }) => store.bucket.get(key)));
        return files.map((file) => Buffer.from(file!.body).toString()).join("");
      },
    });
    current = bench;
    return bench;
  };
  return {
    bench: () => benchOver(store, `agent:a${++sessions}:main`),
    over: ({ key, later, reply }, state, posted) =>
      Object.assign(benchOver(state, key), { later, reply, posted }),
    async close() {
      await model.close();
      await store.close();
    },
  };
}

/** Turns with a tool call each: 4 messages, about `length` characters. */
export const turns = (count: number, length = 600): Message[] =>
  Array.from({ length: count }, (_, i) => [
    user(`question ${i} ${"q".repeat(length / 4)}`, 1000 + i),
    assistant("", `call_${i}`),
    result(`call_${i}`, `result ${i} ${"r".repeat(length / 2)}`),
    assistant(`answer ${i} ${"a".repeat(length / 4)}`),
  ]).flat();

export const message = (id: string, text: string): InboxEntry => ({
  id,
  at: Date.now(),
  origin: { kind: "client", connectionId: "c", requestId: id },
  kind: "message",
  text,
});

export const compact = (id: string, keep: number, via: "command" | "method" = "method"): InboxEntry => ({
  id,
  at: Date.now(),
  origin: { kind: "client", connectionId: "c", requestId: id },
  kind: "compact",
  keep,
  via,
});
