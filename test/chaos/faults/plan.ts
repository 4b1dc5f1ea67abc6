import { type Draw, drawFor } from "../draw.ts";

/** Nodes of a run, by id. Each offers one tool. */
export const nodeIds = ["alpha", "beta", "gamma"] as const;
export const toolName = "Work";

/** What the provider does wrong: refuses, hangs, drops the line, breaks off with an error, says nothing. */
export type ProviderFault = "refuse" | "hang" | "cut" | "break" | "empty";

/** How a turn has to end: with its answer, with an error, or with the one or the other. */
export type ExpectedEnd = "answer" | "error" | "either";

/** What is to happen between a message and its answer, drawn from the seed. */
export interface MessagePlan {
  /** Names the message; stands in its text. */
  tag: string;
  /** The nodes that each round of tool calls asks. */
  rounds: { nodeId: string; workMs: number; silent?: boolean }[][];
  /** What goes wrong with the first or the last answer: at every request, or only once. */
  fault?: { kind: ProviderFault; at: "first" | "last"; passing: boolean };
  /** The first request of each answer is refused with this status, and the next is not. */
  stumble?: number;
  /** Pause before each piece of an answer, in milliseconds. */
  pieceMs: number;
  /** The agent's process is killed while the provider answers; once. */
  killInCall: boolean;
}

/** How long a tool takes at most, and how long an answer's pieces: both far below the timeouts. Milliseconds. */
const longestWorkMs = 6000;
const longestPieceMs = 1500;

export function tagOf(text: string): string | undefined {
  return /#([a-z0-9]+-m\d+)\b/.exec(text)?.[1];
}

/** All messages that a text names: a model is shown neighbouring questions as one. */
export function tagsOf(text: string): string[] {
  return [...text.matchAll(/#([a-z0-9]+-m\d+)\b/g)].flatMap(([, tag]) => tag ?? []);
}

export function messageText(tag: string): string {
  return `please do what #${tag} says`;
}

export function answerText(tag: string): string {
  return `this is the answer to #${tag}`;
}

/** What a node's tool returns for a call, by what the model calls it. */
export function resultText(call: string): string {
  return `done: ${call}`;
}

/** @param level 0 for a provider without faults, 1 for one with many */
export function drawPlan(seed: number, tag: string, level: number): MessagePlan {
  const draw = drawFor(seed, "plan", tag);
  const rounds = Array.from({ length: draw.pick([0, 1, 1, 1, 2]) }, () => drawRound(draw));
  const failing = draw.chance(0.15 * level);
  const kind = draw.pick(["refuse", "hang", "cut", "break", "empty"] as const);
  const at = draw.pick(["first", "last"] as const);
  const passing = draw.chance(0.4);
  return {
    tag,
    rounds,
    ...(failing ? { fault: { kind, at, passing } } : {}),
    ...(draw.chance(0.1 * level) ? { stumble: draw.pick([429, 500, 503]) } : {}),
    pieceMs: draw.chance(0.2) ? draw.between(100, longestPieceMs) : 0,
    killInCall: draw.chance(0.06 * level),
  };
}

/** A fault that passes ends the turn, unless a crash makes the agent ask again before it has noticed. */
export function expectedEnd({ fault }: MessagePlan): ExpectedEnd {
  if (!fault) return "answer";
  return fault.passing ? "either" : "error";
}

function drawRound(draw: Draw): MessagePlan["rounds"][number] {
  const asked = nodeIds.filter(() => draw.chance(0.5));
  const ids = asked.length > 0 ? asked : [draw.pick(nodeIds)];
  return ids.map((nodeId) => ({
    nodeId,
    workMs: draw.chance(0.3) ? draw.between(0, longestWorkMs) : 0,
    ...(draw.chance(0.02) ? { silent: true } : {}),
  }));
}
