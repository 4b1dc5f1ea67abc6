import type { RecalledMemory } from "../../../shared/memory/memory-store.ts";
import { joinOrigins } from "../../../shared/origins/origins.ts";
import { fuseRanks } from "../../../shared/recall/fusion.ts";
import { densestPlace, partAround } from "../../../shared/recall/preview.ts";
import { questionTerms, type RankedTurn } from "../../../shared/recall/ranking.ts";
import { sourceOf } from "../../../shared/recall/source.ts";
import type { IndexedTurn } from "../../../shared/recall/turn-index.ts";
import { localTime } from "../../../shared/runtime/zoned-time.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import type { KeyRules } from "../../../shared/session/key/session-key.ts";
import { isVisible } from "../../../shared/workspace/privacy.ts";
import type { NativeOutcome, ToolCallContext } from "../tools/native/native-tool.ts";
import { countRecall } from "./count-recall.ts";
import { waitingNote } from "./read-logs.ts";
import { recallScope } from "./recall-scope.ts";

/** The least share of a question in an answer. */
const minShare = { memory: 0.2, turn: 0.15 };

/** Characters of an answer: of its texts together, of a hit's own text, and of each message around it. */
const characters = { all: 4000, own: 600, near: 150 };

/** The arguments of `gsv__recall`. `from`, `to`: the first and last day, `YYYY-MM-DD`. */
export interface RecallRequest {
  queries: readonly string[];
  from?: string | undefined;
  to?: string | undefined;
  limit: number;
}

type Hit =
  | { key: string; memory: RecalledMemory; date?: string }
  | { key: string; turn: IndexedTurn; date: string };

/** Answers `gsv__recall`: memories and messages that answer any of the questions, best first. */
export async function answerRecall(request: RecallRequest, context: ToolCallContext): Promise<NativeOutcome> {
  const { agent } = context;
  const configuration = await agent.configuration.load();
  const timezone = configuration.userTimezone;
  const dateOf = (ts: number) => localTime(ts, timezone).date;
  const isWithin = (date?: string) => isDayWithin(request, date);
  const [memories, turns] = await Promise.all([
    findMemories(request, context, timezone, dateOf),
    findTurns(request, context, (turn) => isWithin(dateOf(turn.ts))),
  ]);
  const orders: Hit[][] = [
    ...memories.map((order) => order.filter(({ date }) => isWithin(date))),
    ...turns.orders.map((order) =>
      order
        .filter(({ share }) => share >= minShare.turn)
        .map(({ turn }) => ({ key: keyOf(turn), turn, date: dateOf(turn.ts) })),
    ),
  ];
  const hits = fuseRanks(orders, ({ key }) => key).slice(0, request.limit);
  const terms = new Set(request.queries.flatMap(questionTerms));
  const { shown, origins } = show(hits, turns.around, terms, { rules: keyRules(configuration), timezone });
  const counted = request.queries.map((query, i) => {
    const found = (memories[i] ?? []).filter((one) => shown.has(one.key) && isWithin(one.date));
    return countRecall(
      context,
      i,
      query,
      found.flatMap(({ memory }) => (memory.isHit ? [memory] : [])),
    );
  });
  return {
    ok: true,
    result: { count: shown.size, hits: [...shown.values()], ...waitingNote(turns.waiting) },
    origins,
    inParallel: Promise.all(counted).then(() => undefined),
  };
}

function isDayWithin({ from, to }: RecallRequest, date: string | undefined): boolean {
  if (from === undefined && to === undefined) return true;
  return date !== undefined && date >= (from ?? "") && date <= (to ?? "9999");
}

type MemoryHit = Extract<Hit, { memory: RecalledMemory }>;

/** The memories for each question, best first. None where several people read along. */
async function findMemories(
  { queries, limit }: RecallRequest,
  { agent, turn }: ToolCallContext,
  timezone: string,
  dateOf: (ts: number) => string,
): Promise<MemoryHit[][]> {
  const { memory } = await agent.configuration.load();
  if (!memory.tool || !isVisible(turn.audience, "memory")) return queries.map(() => []);
  const memories = await agent.memories();
  const { agentId, audience } = turn;
  const orders = await memories.recallEach({ agentId, audience, timezone }, queries, limit);
  return orders.map((order) =>
    order
      .filter(({ share }) => share >= minShare.memory)
      .map((one) => {
        const date = dayOf(one) ?? (one.record && dateOf(one.record.at));
        return { key: one.id, memory: one, ...(date === undefined ? {} : { date }) };
      }),
  );
}

/** The newest day whose notes contain a memory. */
function dayOf({ places }: RecalledMemory): string | undefined {
  return places.map(({ path }) => /^memory\/(\d{4}-\d{2}-\d{2})\.md$/.exec(path)?.[1]).find(Boolean);
}

async function findTurns(
  { queries: questions, limit }: RecallRequest,
  context: ToolCallContext,
  isWanted: (turn: IndexedTurn) => boolean,
): Promise<{ orders: RankedTurn[][]; around: (turn: IndexedTurn) => IndexedTurn[]; waiting: number }> {
  const configuration = await context.agent.configuration.load();
  if (!configuration.memory.sessionLogs) return { orders: [], around: () => [], waiting: 0 };
  const recall = await context.agent.recall();
  const scope = { ...recallScope(configuration, context), withoutNewest: true };
  return recall.find(scope, { questions, limit, isWanted });
}

const keyOf = ({ conversation, n }: IndexedTurn) => `${conversation.sessionId} ${n}`;

/** The hits as the model sees them, until the answer is full. A message occurs once, also as a neighbour of others. */
function show(
  hits: readonly Hit[],
  around: (turn: IndexedTurn) => IndexedTurn[],
  terms: ReadonlySet<string>,
  { rules, timezone }: { rules: KeyRules; timezone: string },
): { shown: Map<string, object>; origins: string[] } {
  const shown = new Map<string, object>();
  const told = new Set<string>();
  const origins: (readonly string[] | undefined)[] = [];
  let left = characters.all;
  const part = (text: string, max: number) => partAround(text, densestPlace(text, terms, max), max).text;
  for (const hit of hits) {
    if (told.has(hit.key)) continue;
    let value: object;
    if ("memory" in hit) {
      const { id, text, places, ended } = hit.memory;
      const about = { memory: id, date: hit.date, file: places[0]?.path, ...(ended && { ended }) };
      value = { ...about, text: part(text, characters.own) };
    } else {
      const near = around(hit.turn).filter((turn) => !told.has(keyOf(turn)));
      const texts = near.map((turn) => {
        const isHit = keyOf(turn) === hit.key;
        return `${turn.role}: ${part(turn.text, isHit ? characters.own : characters.near)}`;
      });
      const { sessionId, sessionKey } = hit.turn.conversation;
      const { date, time } = localTime(hit.turn.ts, timezone);
      value = {
        ...{ session_id: sessionId, message: hit.turn.n, date: `${date} ${time}` },
        ...{ source: sourceOf(sessionKey, rules), text: texts.join("\n") },
      };
    }
    const size = JSON.stringify(value).length;
    if (size > left) break;
    left -= size;
    shown.set(hit.key, value);
    if ("memory" in hit) origins.push(hit.memory.origins);
    else {
      for (const turn of around(hit.turn)) {
        told.add(keyOf(turn));
        origins.push(turn.conversation.origins);
      }
    }
  }
  return { shown, origins: joinOrigins(...new Set(origins)) };
}
