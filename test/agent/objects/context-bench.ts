import type { Rendering } from "../../../shared/context/view.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type MemoryState, startState } from "../../support/state.ts";
import { type Bench, immortal, type Life, openBench } from "../bench.ts";

/** A session whose model gives the replies of a test, over OpenAI's wire format. */
export interface ContextBench extends Bench {
  store: MemoryState;
  model: ModelServer;
  key: string;
  /**
   * Sends a message. The model makes each group of calls in turn, and answers then.
   * @returns the requests that the model has seen
   */
  turn(text: string, ...groups: NonNullable<Reply["toolCalls"]>[]): Promise<ModelRequest[]>;
  /** Lets the model make each group of calls in turn when it is sent this, and answer then. */
  script(text: string, ...groups: NonNullable<Reply["toolCalls"]>[]): void;
  /** Submits the message of a turn without running it. */
  prepare(text: string, ...groups: NonNullable<Reply["toolCalls"]>[]): Promise<void>;
  /** Processes the inbox; after a death, again until it is done. */
  run(life?: Life): Promise<void>;
}

export interface ContextStack {
  bench(rendering?: Rendering, contextWindow?: number): ContextBench;
  /** A bench as this one is now, over another state. */
  over(bench: ContextBench, state: MemoryState): ContextBench;
  close(): Promise<void>;
}

/** A call that a model makes. */
export const call = (id: string, name: string, args: Record<string, unknown>) => ({
  id,
  name,
  arguments: args,
});
export const read = (id: string, path: string) => call(id, "gsv__ReadFile", { path });
export const activate = (id: string, of: string) => call(id, "gsv__activate", { id: of });
export const deactivate = (id: string, of: string) => call(id, "gsv__deactivate", { id: of });
export const pin = (id: string, of: string, pinned = true) => call(id, "gsv__pin", { id: of, pinned });

/** An id such as a provider gives. */
export const idOf = (name: string) => `toolu_01_${name.padStart(12, "0")}`;

export async function startContextStack(): Promise<ContextStack> {
  const store = await startState();
  let asked: { text: string; groups: NonNullable<Reply["toolCalls"]>[] } = { text: "", groups: [] };
  let sessions = 0;
  let messages = 0;
  const model = await startOpenAiServer((request) => {
    if (request.system.startsWith("You read conversations"))
      return { text: "<summary>They read files.</summary>" };
    // By what the request holds: a call that was not committed is asked for again.
    const { turns } = request;
    const question = turns.findLastIndex(
      ({ role, text }) => role === "user" && text.includes(asked.text) && !text.startsWith("Active objects."),
    );
    const done = turns.slice(question).filter(({ toolCalls = [] }) => toolCalls.length > 0).length;
    const toolCalls = asked.groups[done];
    return toolCalls ? { toolCalls } : { text: "the answer" };
  });
  const benchOver = (store: MemoryState, key: string, rendering: Rendering, contextWindow?: number) => {
    model.requests.length = 0;
    const chosen = { provider: "openai-compatible", id: "m", baseUrl: model.url, contextWindow };
    const opened = openBench(store, chosen);
    opened.configuration.context.rendering = rendering;
    const bench: ContextBench = Object.assign(opened, {
      store,
      model,
      key,
      script(text: string, ...groups: NonNullable<Reply["toolCalls"]>[]) {
        asked = { text, groups };
      },
      async prepare(text: string, ...groups: NonNullable<Reply["toolCalls"]>[]) {
        bench.script(text, ...groups);
        const origin = { kind: "client" } as const;
        const id = `m${++messages}`;
        await bench.submit(bench.key, { id, at: Date.now(), origin, kind: "message", text });
      },
      async run(life = immortal()) {
        if (await bench.invoke(bench.key, life)) return;
        for (let tries = 0; tries < 6; tries++) {
          await bench.invoke(bench.key);
          const { run, inbox, owner } = await bench.state(bench.key);
          if (!run && inbox.length === 0 && owner === undefined) return;
        }
        throw new Error("it is never done");
      },
      async turn(text: string, ...groups: NonNullable<Reply["toolCalls"]>[]) {
        const before = model.requests.length;
        await bench.prepare(text, ...groups);
        await bench.run();
        return model.requests.slice(before);
      },
    });
    return bench;
  };
  return {
    bench: (rendering = "inline", contextWindow = 100_000) =>
      benchOver(store, `agent:c${++sessions}:main`, rendering, contextWindow),
    over({ key, later, configuration }, state) {
      const { rendering } = configuration.context;
      const { contextWindow } = configuration.model;
      return Object.assign(benchOver(state, key, rendering, contextWindow), { later });
    },
    async close() {
      await model.close();
      await store.close();
    },
  };
}
