import {
  type Message,
  type ToolCallBlock,
  type ToolResultMessage,
  toolCallsOf,
} from "../protocol/messages.ts";
import type { StaticRef, ToolcallFields, ToolcallObject } from "../protocol/objects.ts";
import { withHashes } from "./hash.ts";

/** A call of a conversation with its result. Numbers of messages are counted from 1. */
export interface Call {
  /** Names it alone in its conversation: the call's id; of a later call with the same id, `{id}~2`, `{id}~3`, … */
  id: string;
  /** Absent where only the result is there. */
  block?: ToolCallBlock;
  /** Absent until there is one. */
  result?: ToolResultMessage;
  /** Number of the message that called, or of the result where that is all. */
  n: number;
  /** Number of the message with the result. */
  resultN?: number;
  /** The time of message `n`; epoch ms. */
  at: number;
}

/**
 * The calls of a conversation, in order. A result belongs to the newest reply that called by its id; the first result of
 * a call stays its result.
 */
export function callsOf(messages: readonly Message[]): Call[] {
  const calls: Call[] = [];
  const taken = new Set<string>();
  const open = new Map<string, Call[]>();
  const add = (id: string, call: Omit<Call, "id">) => {
    let own = id;
    for (let use = 2; taken.has(own); use++) own = `${id}~${use}`;
    taken.add(own);
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
    else if (!taken.has(message.toolCallId)) add(message.toolCallId, { ...answer, ...place });
  }
  return calls;
}

/** Longest `args_display`, in characters. */
const mostDisplay = 80;

/** Arguments that say most of a call, the most telling first. */
const tellingArguments = ["command", "path", "pattern", "query", "url", "id", "action"];

/** A call in one line for people and for the model: `laptop__Bash: "ls -la"`. At most 80 characters. */
export function argsDisplay(tool: string, args: unknown): string {
  return oneLine(`${tool}: ${JSON.stringify(mainArgument(args)) ?? ""}`, mostDisplay);
}

const knownDisplays = new WeakMap<Call, string>();

/** As `argsDisplay`, of a call; made once for it. */
export function displayOf(call: Call): string {
  const known = knownDisplays.get(call);
  if (known !== undefined) return known;
  const display = argsDisplay(toolOf(call), call.block?.arguments);
  knownDisplays.set(call, display);
  return display;
}

/** The tool of a call, by the name that the model said. */
export function toolOf({ block, result }: Call): string {
  return block?.name ?? result?.toolName ?? "";
}

function mainArgument(args: unknown): unknown {
  if (typeof args !== "object" || args === null) return args;
  const named = new Map<string, unknown>(Object.entries(args));
  const telling = tellingArguments.find((name) => typeof named.get(name) === "string");
  return telling === undefined ? args : named.get(telling);
}

function oneLine(text: string, most: number): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return line.length <= most ? line : `${line.slice(0, most - 1).toWellFormed()}…`;
}

/** The text of a result; null when it has none, such as an image alone. */
export function resultText({ content }: ToolResultMessage): string | null {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.length === 0 ? null : texts.join("\n");
}

/**
 * A version of a call as an object: 1 is the call, 2 has its result.
 * @param chat the chat up to the message that called, and which of its turns that is
 */
export function toolcallObject(
  call: Call,
  version: 1 | 2,
  chat: StaticRef & { turn: number },
  files: readonly string[] = [],
): ToolcallObject {
  const result = version === 2 ? call.result : undefined;
  const tool = toolOf(call);
  const said = call.block?.id ?? call.result?.toolCallId;
  const fields: ToolcallFields = {
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
    ...(said === call.id ? {} : { call_id: said }),
    ...(call.block?.providerId === undefined ? {} : { provider_id: call.block.providerId }),
    ...(result ? { ...outputOf(result), result_at: result.timestamp } : {}),
  };
  return withHashes(fields);
}

/** Where a tool runs: `gsv`, or the id of a node. */
function ownerOf(tool: string): string {
  const end = tool.indexOf("__");
  return end > 0 ? tool.slice(0, end) : "gsv";
}

/** The blocks of a result that `content` alone does not tell. */
function outputOf(result: ToolResultMessage): Pick<ToolcallFields, "output"> {
  const [only] = result.content;
  const isPlain = result.content.length === 1 && only?.type === "text" && Object.keys(only).length === 2;
  return isPlain ? {} : { output: result.content };
}

/** The result of a call, made of its object again. Undefined while there is none. */
export function resultMessage(object: ToolcallObject): ToolResultMessage | undefined {
  const { id, call_id = id, tool, content, status, output, result_at } = object;
  if (status === "pending" || result_at === undefined) return undefined;
  return {
    role: "toolResult",
    toolCallId: call_id,
    toolName: tool,
    content: output ?? [{ type: "text", text: content ?? "" }],
    isError: status === "fail",
    timestamp: result_at,
  };
}
