import { type Draw, drawFor } from "../draw.ts";

/** Nodes of a run, by id. Each offers one tool. */
export const nodeIds = ["alpha", "beta", "gamma"] as const;
export const toolName = "Work";

/** Faults of the provider: it refuses, hangs, drops the connection, stops with an error, or sends an empty answer. */
export type ProviderFault = "refuse" | "hang" | "cut" | "break" | "empty";

/** How a turn must end: with its answer, with an error, or with either. */
export type ExpectedEnd = "answer" | "error" | "either";

/** What happens between a message and its answer, drawn from the seed. */
export interface MessagePlan {
  /** Identifies the message; its text contains the tag. */
  tag: string;
  /** The tool calls of each round, by node. */
  rounds: { nodeId: string; workMs: number; silent?: boolean }[][];
  /** What goes wrong with the first or the last answer: at every request, or only once. */
  fault?: { kind: ProviderFault; at: "first" | "last"; passing: boolean };
  /** The provider refuses the first request of each answer with this status. */
  stumble?: number;
  /** Pause before each piece of an answer, in milliseconds. */
  pieceMs: number;
  /** Kill the agent's process once while the provider answers. */
  killInCall: boolean;
}

/** Maximum duration of a tool and of an answer's pieces, far below the timeouts. Milliseconds. */
const longestWorkMs = 6000;
const longestPieceMs = 1500;

export function tagOf(text: string): string | undefined {
  return /#([a-z0-9]+-m\d+)\b/.exec(text)?.[1];
}

/** All tags in a text: a model sees adjacent questions as one message. */
export function tagsOf(text: string): string[] {
  return [...text.matchAll(/#([a-z0-9]+-m\d+)\b/g)].flatMap(([, tag]) => tag ?? []);
}

export function messageText(tag: string): string {
  return `please do what #${tag} says`;
}

export function answerText(tag: string): string {
  return `this is the answer to #${tag}`;
}

/** The result of a node's tool for a call, by the model's name for the call. */
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

/** A passing fault can also end with an answer: after a crash, the agent asks again without having seen the fault. */
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
