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
  /** Messages to other agents in a first round of its own, each with this number and another digit. */
  sends?: number;
  /** How often those agents send messages in turn. */
  hops?: number;
  /** 1: the rounds transfer files between the node and the workspace. */
  copies?: number;
}

const fields = ["rounds", "node", "native", "fails", "refuses", "ms", "sends", "hops", "copies"] as const;
const pattern = new RegExp(`\\bq(\\d+) ${fields.map((name) => `${name}=(\\d+)`).join(" ")}`, "g");

export function textOfScript(script: Script): string {
  return [`q${script.number}`, ...fields.map((name) => `${name}=${script[name] ?? 0}`)].join(" ");
}

/** A script without tools and failures. */
export const noTools = { rounds: 0, node: 0, native: 0, fails: 0, refuses: 0 };

/** The numbers of all scripts in a text. */
export function numbersIn(text: string): number[] {
  return [...text.matchAll(pattern)].map(([, number]) => Number(number));
}

/** The last script in a text. */
export function readScript(text: string): Script | undefined {
  const found = [...text.matchAll(pattern)].at(-1);
  if (!found) return undefined;
  const [number = 0, ...values] = found.slice(1).map(Number);
  return { number, ...Object.fromEntries(fields.map((name, i) => [name, values[i]])) } as Script;
}

/** The number in a user message; undefined for a summary, and for a text that was shortened to fit: it may end with another's. */
export function numberOf(message: Message): number | undefined {
  if (message.role !== "user" || readSummaryMessage(message)) return undefined;
  const text = textOf(message);
  return text.includes("characters left out") ? undefined : readScript(text)?.number;
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
