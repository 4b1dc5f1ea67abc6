import {
  type Message,
  type ToolCallBlock,
  type ToolResultMessage,
  toolCallsOf,
} from "../protocol/messages.ts";
import type { StaticRef, ToolcallFields, ToolcallObject } from "../protocol/objects.ts";
import { withHashes } from "./hash.ts";

/** A call of a conversation with its result. Messages are counted from 1. */
export interface Call {
  /** Unique in its conversation: the call's id; for a later call with the same id `{id}~2`, `{id}~3`, … */
  id: string;
  /** Absent if only the result is stored. */
  block?: ToolCallBlock;
  /** Absent until there is one. */
  result?: ToolResultMessage;
  /** Number of the message with the call, or of the result if only that is stored. */
  n: number;
  /** Number of the message with the result. */
  resultN?: number;
  /** The time of message `n`; epoch ms. */
  at: number;
}

/**
 * The calls of a conversation, in order. A result belongs to the newest reply with a call of its id; a call keeps its
 * first result.
 */
export function callsOf(messages: readonly Message[]): Call[] {
  const calls: Call[] = [];
  const used = new Set<string>();
  const open = new Map<string, Call[]>();
  const add = (id: string, call: Omit<Call, "id">) => {
    let own = id;
    for (let use = 2; used.has(own); use++) own = `${id}~${use}`;
    used.add(own);
    const named = { id: own, ...call };
    calls.push(named);
    return named;
  };
  for (const [i, message] of messages.entries()) {
    const place = { n: i + 1, at: message.timestamp };
    for (const block of toolCallsOf(message)) {
      const call = add(block.id, { block, ...place });
      const waiting = open.get(block.id);
      if (waiting?.at(-1)?.n === call.n) waiting.push(call);
      else open.set(block.id, [call]);
    }
    if (message.role !== "toolResult") continue;
    const answer = { result: message, resultN: i + 1 };
    const waiting = open.get(message.toolCallId)?.shift();
    if (waiting) Object.assign(waiting, answer);
    else if (!used.has(message.toolCallId)) add(message.toolCallId, { ...answer, ...place });
  }
  return calls;
}

/** Maximum characters of `args_display`. */
const maxDisplay = 80;

/** Arguments that describe a call best, in order of preference. */
const mainArguments = ["command", "path", "pattern", "query", "url", "id", "action"];

/** A call in one line for people and for the model: `laptop__Bash: "ls -la"`. At most 80 characters. */
export function argsDisplay(tool: string, args: unknown): string {
  return oneLine(`${tool}: ${JSON.stringify(mainArgument(args)) ?? ""}`, maxDisplay);
}

const knownDisplays = new WeakMap<Call, string>();

/** `argsDisplay` of a call, cached. */
export function displayOf(call: Call): string {
  const known = knownDisplays.get(call);
  if (known !== undefined) return known;
  const display = argsDisplay(toolOf(call), call.block?.arguments);
  knownDisplays.set(call, display);
  return display;
}

/** The tool of a call, by the name that the model used. */
export function toolOf({ block, result }: Call): string {
  return block?.name ?? result?.toolName ?? "";
}

function mainArgument(args: unknown): unknown {
  if (typeof args !== "object" || args === null) return args;
  const named = new Map<string, unknown>(Object.entries(args));
  const main = mainArguments.find((name) => typeof named.get(name) === "string");
  return main === undefined ? args : named.get(main);
}

function oneLine(text: string, max: number): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return line.length <= max ? line : `${line.slice(0, max - 1).toWellFormed()}…`;
}

/** The text of a result; null if it has none, for example only an image. */
export function resultText({ content }: ToolResultMessage): string | null {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.length === 0 ? null : texts.join("\n");
}

/**
 * A version of a call as an object: 1 is the call, 2 has its result.
 * @param chat the chat up to the message with the call, and the index of its turn
 */
export function toolcallObject(
  call: Call,
  version: 1 | 2,
  chat: StaticRef & { turn: number },
  files: readonly string[] = [],
): ToolcallObject {
  const result = version === 2 ? call.result : undefined;
  const tool = toolOf(call);
  const callId = call.block?.id ?? call.result?.toolCallId;
  return withHashes({
    id: call.id,
    type: "toolcall",
    content: result ? resultText(result) : null,
    locked: false,
    provenance: { origin: ownerOf(tool), generator: "tool", parent_refs: [chat.id] },
    version_no: version,
    at: result?.timestamp ?? call.at,
    tool,
    ...(call.block ? { args: call.block.arguments } : {}),
    args_display: displayOf(call),
    status: result ? (result.isError ? "fail" : "ok") : "pending",
    chat_ref: chat,
    ...(files.length > 0 ? { file_refs: [...files] } : {}),
    ...(callId === call.id ? {} : { call_id: callId }),
    ...(call.block?.providerId === undefined ? {} : { provider_id: call.block.providerId }),
    ...(result ? { ...outputOf(result), result_at: result.timestamp } : {}),
  });
}

/** Where a tool runs: `gsv`, or the id of a node. */
function ownerOf(tool: string): string {
  const end = tool.indexOf("__");
  return end > 0 ? tool.slice(0, end) : "gsv";
}

/** The blocks of a result, unless `content` represents them fully. */
function outputOf(result: ToolResultMessage): Pick<ToolcallFields, "output"> {
  const [only] = result.content;
  const isPlain = result.content.length === 1 && only?.type === "text" && Object.keys(only).length === 2;
  return isPlain ? {} : { output: result.content };
}
