import { isActiveMessage } from "../../../shared/objects/wire-messages.ts";
import { type Message, textOf, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { readSummaryMessage } from "../../../shared/session/summary-message.ts";

/** How the model handles a message. It is part of the message's text. */
export interface Script {
  /** The message's number, unique in a schedule. */
  number: number;
  /** Rounds of tool calls before the answer. */
  rounds: number;
  /** Calls of a node's tool in each round … */
  node: number;
  /** … and of the gateway's own. */
  native: number;
  /** 1: the provider fails. */
  fails: number;
  /** 1: the provider rejects a conversation with more than a few messages as too long. */
  refuses: number;
  /** Duration of each answer, in milliseconds. */
  ms: number;
}

const fields = ["rounds", "node", "native", "fails", "refuses", "ms"] as const;
const pattern = /\bq(\d+) rounds=(\d+) node=(\d+) native=(\d+) fails=(\d+) refuses=(\d+) ms=(\d+)/g;

export function textOfScript(script: Script): string {
  return [`q${script.number}`, ...fields.map((name) => `${name}=${script[name]}`)].join(" ");
}

/** The last script in a text. */
export function readScript(text: string): Script | undefined {
  const found = [...text.matchAll(pattern)].at(-1);
  if (!found) return undefined;
  const [number = 0, rounds = 0, node = 0, native = 0, fails = 0, refuses = 0, ms = 0] = found
    .slice(1)
    .map(Number);
  return { number, rounds, node, native, fails, refuses, ms };
}

/** The number in a user message; undefined for a summary. */
export function numberOf(message: Message): number | undefined {
  if (message.role !== "user" || readSummaryMessage(message)) return undefined;
  return readScript(textOf(message))?.number;
}

/** The current script of a conversation, and the number of completed rounds. */
export function placeOf(messages: readonly Message[]): { script: Script; done: number } | undefined {
  const at = messages.findLastIndex((message) => message.role === "user" && !isActiveMessage(message));
  const question = messages[at];
  const script = question && readScript(textOf(question));
  if (!script) return undefined;
  const done = messages.slice(at).filter((message) => toolCallsOf(message).length > 0).length;
  return { script, done };
}

export function answerTo(number: number): string {
  return `answer to q${number}.`;
}
