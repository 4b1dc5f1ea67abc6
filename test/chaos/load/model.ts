import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply, Turn } from "../../support/models/scripted-model.ts";
import { answerText, type MessagePlan, resultText, tagOf, tagsOf, toolName } from "../faults/plan.ts";

export interface ChaosModel {
  url: string;
  /** Requests that a provider would reject, or with a false conversation. */
  faults(): string[];
  /** The number of requests. */
  count(): number;
  close(): Promise<void>;
}

export interface ChaosModelOptions {
  planOf(tag: string): MessagePlan;
  /** Called when the provider gets the request during which the agent's process must be killed. */
  onKillInCall(tag: string): void;
}

/**
 * The model's own id for a call, passed as an argument because the gateway assigns its own ids: the message, the round,
 * the index in it, and a number that is unique to this request.
 */
function callOf(tag: string, round: number, place: number, request: number): string {
  return `c_${tag}_${round}.${place}_${request}`;
}

/** The part of a call's id that is the same in every run of a plan: round and index. */
export function callName(call: string): string {
  return call.split("_")[2] ?? call;
}

/** The provider: it follows the last message's plan, and checks that the conversation in each request is true. */
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
    if (tag === undefined) return { error: { status: 400, message: "no message with a known tag" } };
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

/** The number of requests of one model call: the provider's client retries a refusal. */
function triesOf({ error }: Reply): number {
  return error ? 3 : 1;
}

function replyTo(plan: MessagePlan, round: number, number: number, offered: string[]): Reply {
  const { tag, pieceMs, fault } = plan;
  // A model calls only tools that it is offered.
  const asked = (plan.rounds[round] ?? []).map(({ nodeId }, place) => ({
    name: `${nodeId}__${toolName}`,
    arguments: { tag, call: callOf(tag, round, place, number) },
  }));
  const toolCalls = asked.filter(({ name }) => offered.includes(name));
  const text = toolCalls.length === 0 ? answerText(tag) : `round ${round} of #${tag}`;
  return { text: pieceMs > 0 || fault ? text.split(/(?= )/) : [text], toolCalls, delayMs: pieceMs };
}

/** The faulty reply; undefined if the plan has no fault here. */
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

/** Finds impossible turns: a repeated message, an answer to another message, a result that no node returned. */
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
      if (tags.length === 0) faults.push(`a user message has no tag: ${turn.text}`);
      for (const one of tags.filter((each) => seen.has(each)))
        faults.push(`the user message #${one} is there twice`);
      for (const one of tags) seen.add(one);
      tag = tags.at(-1);
    } else if (turn.role === "assistant" && !isBridge(turn.text) && tagOf(turn.text) !== tag) {
      faults.push(`an answer to #${tagOf(turn.text)} follows #${tag}`);
    } else if (turn.role === "tool" && !isTrue(turn, calls)) {
      faults.push(`the result of ${turn.toolCallId} is ${JSON.stringify(turn.text)}`);
    }
  }
  return faults;
}

/** Text that stands for a missing answer, or accompanies tool calls. */
function isBridge(text: string): boolean {
  return text === "" || /^(\(The turn was ended here, |\[no answer: |\[stopped by the user )/.test(text);
}

/** @param calls the model's ids of the calls, by the gateway's id */
function isTrue({ text, toolCallId = "" }: Turn, calls: ReadonlyMap<string, string>): boolean {
  return text === resultText(calls.get(toolCallId) ?? "") || isLoss(text);
}

/** Whether a result reports a call lost to a fault: the node was gone, did not read, or timed out. */
export function isLoss(text: string): boolean {
  const known = [
    ...["the tool did not answer in time", "Node not connected: ", "Node does not read its messages: "],
    ...["the machine disconnected during the call", "the node on the machine restarted during the call"],
    ...["interrupted; ", "not run: it could not be sent when you called it"],
  ];
  return (
    known.some((reason) => text.startsWith(`Error: ${reason}`)) ||
    /^Error: \w+ is not connected since /.test(text)
  );
}
