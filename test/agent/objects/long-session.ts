import { holdSession } from "../../../functions/agent/session-loop.ts";
import type { Rendering } from "../../../shared/context/view.ts";
import { toolCallsOf } from "../../../shared/protocol/messages.ts";
import { isReading, tokensOf, withWindow } from "../../support/models/model-window.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, Reply } from "../../support/models/scripted-model.ts";
import { seededRandom } from "../../support/random.ts";
import type { State } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

/** How a long conversation is held. */
export interface LongSessionOptions {
  turns: number;
  /** Tokens. */
  contextWindow: number;
  rendering: Rendering;
  /** Without deactivation the model has no context tools, and reads again what it does not see. */
  deactivates: boolean;
}

/** Figures of a long conversation. Tokens are the characters of the requests / 4. */
export interface LongSessionFigures {
  modelCalls: number;
  compactions: number;
  /** Tokens of all requests that continue the conversation, and of those of them that the one before did not begin with. */
  inputTokens: number;
  newTokens: number;
  /** Tokens of the requests for summaries. */
  summaryTokens: number;
  /** The largest request. */
  largest: number;
  refused: number;
  /** How often the model needed an earlier result: it saw it, activated it, or had to read again. */
  seen: number;
  activated: number;
  readAgain: number;
}

/** A conversation in progress, for checks of its end. */
export interface LongSession {
  bench: Bench;
  sessionKey: string;
  figures: LongSessionFigures;
  /** Ids of the reading calls, with the first words of their results. */
  readings: { id: string; words: string }[];
}

/** What a turn is about: files to read, and an earlier one that is needed again. */
interface Plan {
  files: number[];
  again?: number;
}

/**
 * Holds a conversation whose model reads one to three files a turn, of 300 to 6,000 characters, and in every fourth turn
 * needs one of the 30 files that it read before. Everything follows from one seed.
 */
export async function holdLongSession(
  state: State,
  sessionKey: string,
  { turns, contextWindow, rendering, deactivates }: LongSessionOptions,
): Promise<LongSession> {
  const random = seededRandom(11);
  const agentId = sessionKey.split(":")[1] ?? "";
  const figures = {
    modelCalls: 0,
    compactions: 0,
    inputTokens: 0,
    newTokens: 0,
    summaryTokens: 0,
    largest: 0,
    refused: 0,
    seen: 0,
    activated: 0,
    readAgain: 0,
  };
  const readings: LongSession["readings"] = [];
  const ids = new Map<number, string>();
  let plan: Plan = { files: [] };
  let before = "";
  let count = 0;
  const reading = (file: number) => {
    const id = `toolu_reading_${String(++count).padStart(6, "0")}`;
    ids.set(file, id);
    readings.push({ id, words: wordsOf(file) });
    return { id, name: "gsv__ReadFile", arguments: { path: `notes/${file}.md` } };
  };
  const talk = (request: ModelRequest): Reply => {
    if (isReading(request)) {
      figures.summaryTokens += tokensOf(request);
      return { text: `<summary>${"They read notes and spoke of them. ".repeat(12)}</summary>` };
    }
    note(request);
    const [file] = plan.files;
    if (file !== undefined) {
      plan.files.shift();
      return { toolCalls: [reading(file)] };
    }
    if (plan.again === undefined) return { text: `The notes say what was asked. ${"So it is. ".repeat(15)}` };
    return { toolCalls: [recall(request, plan.again)].flat() };
  };
  /** Sees an earlier result, activates it, or reads the file again. */
  const recall = (request: ModelRequest, file: number): NonNullable<Reply["toolCalls"]> => {
    plan.again = undefined;
    if (request.turns.some(({ text }) => text.includes(wordsOf(file)))) {
      figures.seen++;
      return [reading(plan.files.shift() ?? 0)];
    }
    const id = ids.get(file);
    if (!deactivates || !id) {
      figures.readAgain++;
      return [reading(file)];
    }
    figures.activated++;
    return [
      { id: `toolu_activate_${String(++count).padStart(6, "0")}`, name: "gsv__activate", arguments: { id } },
    ];
  };
  const note = (request: ModelRequest) => {
    const body = JSON.stringify((request.body as { messages: unknown }).messages);
    const tokens = tokensOf(request);
    figures.modelCalls++;
    figures.inputTokens += tokens;
    figures.newTokens += Math.ceil((body.length - sameStart(body, before)) / 4);
    figures.largest = Math.max(figures.largest, tokens);
    before = body;
  };
  const script = withWindow(contextWindow, talk);
  const model = await startOpenAiServer(script);
  try {
    const chosen = { provider: "openai-compatible", id: "m", baseUrl: model.url, contextWindow };
    const bench = openBench(state, chosen);
    bench.configuration.context = { ...bench.configuration.context, rendering, tools: deactivates };
    bench.configuration.compaction.extractMemories = false;
    let agent = bench.agent();
    const read: number[] = [];
    for (let turn = 0; turn < turns; turn++) {
      if (turn % 50 === 0) agent = bench.agent();
      const files = Array.from({ length: 1 + random.integer(3) }, (_, i) => turn * 3 + i);
      for (const file of files)
        await agent.workspace.write(
          agentId,
          `notes/${file}.md`,
          `${wordsOf(file)} ${"n".repeat(300 + random.integer(random.pick([500, 2000, 6000])))}`,
        );
      plan = { files, ...(turn % 4 === 3 ? { again: random.pick(read.slice(-30)) } : {}) };
      read.push(...files);
      const text = `Turn ${turn}: what do the notes of today say? ${"Please look. ".repeat(4)}`;
      const origin = { kind: "client" } as const;
      await bench.submit(sessionKey, { id: `turn-${turn}`, at: Date.now(), origin, kind: "message", text });
      await holdSession(agent, sessionKey, () => 900_000);
    }
    figures.refused = script.refused;
    figures.compactions = (await bench.parts(sessionKey)).length;
    return { bench, sessionKey, figures, readings };
  } finally {
    await model.close();
  }
}

/** How many characters two texts begin with that are the same. */
function sameStart(text: string, other: string): number {
  const piece = 1000;
  let same = 0;
  while (same + piece <= text.length && other.startsWith(text.slice(same, same + piece), same)) same += piece;
  while (same < text.length && text[same] === other[same]) same++;
  return same;
}

function wordsOf(file: number): string {
  return `The note with the number ${file} begins here.`;
}

/** Ids of the calls that a session has had, archived or live. */
export async function callIdsOf({ bench, sessionKey }: LongSession): Promise<string[]> {
  const messages = [...(await bench.parts(sessionKey)).flat(), ...(await bench.live(sessionKey))];
  return messages.flatMap(toolCallsOf).map(({ id }) => id);
}
