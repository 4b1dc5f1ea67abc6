import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply, Turn } from "../../support/models/scripted-model.ts";
import { answerText, type MessagePlan, resultText, tagOf, tagsOf, toolName } from "../faults/plan.ts";

export interface ChaosModel {
  url: string;
  /** Requests that a provider would not have taken, or that tell something that never was. */
  faults(): string[];
  /** Requests so far. */
  count(): number;
  close(): Promise<void>;
}

export interface ChaosModelOptions {
  planOf(tag: string): MessagePlan;
  /** Told when the provider is asked for an answer in which the agent's process is to be killed. */
  onKillInCall(tag: string): void;
}

/**
 * What the model calls a call, as an argument of it, because the gateway gives it an id of its own: the message, the
 * round and the place in it, and a number that no other request of this run has.
 */
function callOf(tag: string, round: number, place: number, request: number): string {
  return `c_${tag}_${round}.${place}_${request}`;
}

/** The part of a call that is the same in every run of a plan: round and place. */
export function callName(call: string): string {
  return call.split("_")[2] ?? call;
}

/** The provider: it does what the last message's plan says, and checks that what it is told is true. */
export async function startChaosModel(options: ChaosModelOptions): Promise<ChaosModel> {
  const faults: string[] = [];
  const stumbled = new Set<string>();
  const failures = new Map<string, number>();
  const killed = new Set<string>();
  let count = 0;
  const script = async (request: ModelRequest): Promise<Reply> => {
    const number = count++;
    const last = request.turns.findLastIndex((turn) => turn.role === "user");
    const tag = tagsOf(request.turns[last]?.text ?? "").at(-1);
    if (tag === undefined) return { error: { status: 400, message: "no message that is known" } };
    faults.push(...findFaults(request.turns).map((fault) => `request ${number} (#${tag}): ${fault}`));
    const plan = options.planOf(tag);
    const round = request.turns.slice(last + 1).filter((turn) => turn.toolCalls?.length).length;
    if (plan.killInCall && !killed.has(tag)) {
      killed.add(tag);
      options.onKillInCall(tag);
    }
    const step = `${tag}/${round}`;
    if (plan.stumble && !stumbled.has(step)) {
      stumbled.add(step);
      return { error: { status: plan.stumble } };
    }
    const reply = replyTo(plan, round, number, request.tools);
    const failing = failingReply(plan, round, reply);
    if (!failing) return reply;
    const before = failures.get(tag) ?? 0;
    failures.set(tag, before + 1);
    return plan.fault?.passing && before >= triesOf(failing) ? reply : failing;
  };
  const server: ModelServer = await startOpenAiServer(script);
  return {
    url: server.url,
    faults: () => {
      const refused = server.requests.filter((one) => one.status === 400);
      return [...faults, ...refused.map((one) => `refused: ${JSON.stringify(one.refused).slice(0, 300)}`)];
    },
    count: () => count,
    close: () => server.close(),
  };
}

/** Requests of one model call: a refusal is tried again by the provider's client. */
function triesOf({ error }: Reply): number {
  return error ? 3 : 1;
}

function replyTo(plan: MessagePlan, round: number, number: number, offered: string[]): Reply {
  const { tag, pieceMs, fault } = plan;
  // A node that has lost its connection at this moment is not offered, and a model calls what it is offered.
  const asked = (plan.rounds[round] ?? []).map(({ nodeId }, place) => ({
    name: `${nodeId}__${toolName}`,
    arguments: { tag, call: callOf(tag, round, place, number) },
  }));
  const toolCalls = asked.filter(({ name }) => offered.includes(name));
  const text = toolCalls.length === 0 ? answerText(tag) : `round ${round} of #${tag}`;
  return { text: pieceMs > 0 || fault ? text.split(/(?= )/) : [text], toolCalls, delayMs: pieceMs };
}

/** What is said instead of `reply`; undefined where the plan has no fault. */
function failingReply({ fault }: MessagePlan, round: number, { text, toolCalls }: Reply): Reply | undefined {
  if (!fault || !(fault.at === "first" ? round === 0 : toolCalls?.length === 0)) return undefined;
  switch (fault.kind) {
    case "refuse":
      return { error: { status: 500 } };
    case "hang":
      return { text: text?.slice(0, 2), hang: true };
    case "cut":
      return { text, cutAfterChunks: 2 };
    case "break":
      return { text, streamError: { afterPieces: 2, message: "overloaded" } };
    case "empty":
      return { text: "" };
  }
}

/** What cannot be true in a conversation: a message twice, an answer to another, a result that no node returned. */
function findFaults(turns: readonly Turn[]): string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  const calls = new Map<string, string>();
  let tag: string | undefined;
  for (const turn of turns) {
    for (const { id, arguments: args } of turn.toolCalls ?? [])
      calls.set(id, String((args as { call?: string }).call));
    if (turn.role === "user") {
      const tags = tagsOf(turn.text);
      if (tags.length === 0) faults.push(`a user message is not one: ${turn.text}`);
      for (const one of tags.filter((each) => seen.has(each)))
        faults.push(`the user message #${one} is there twice`);
      for (const one of tags) seen.add(one);
      tag = tags.at(-1);
    } else if (turn.role === "assistant" && !isBridge(turn.text) && tagOf(turn.text) !== tag) {
      faults.push(`an answer to #${tagOf(turn.text)} stands after #${tag}`);
    } else if (turn.role === "tool" && !isTrue(turn, calls)) {
      faults.push(`the result of ${turn.toolCallId} is ${JSON.stringify(turn.text)}`);
    }
  }
  return faults;
}

/** What stands for an answer that a turn has not got, or beside tool calls. */
function isBridge(text: string): boolean {
  return text === "" || text === "(The turn was ended here, before an answer.)";
}

/** @param calls what the model called each call, by the id that it is shown */
function isTrue({ text, toolCallId = "" }: Turn, calls: ReadonlyMap<string, string>): boolean {
  return text === resultText(calls.get(toolCallId) ?? "") || isLoss(text);
}

/** What a model may be told of a call that a fault has cost: its node was gone, or did not read, or its time ran out. */
export function isLoss(text: string): boolean {
  return /^Error: (the tool did not answer in time|Node not connected: |Node does not read what it is sent: )/.test(
    text,
  );
}
