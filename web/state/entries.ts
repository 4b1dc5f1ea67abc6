import type {
  AssistantMessage,
  ImageBlock,
  Message,
  TextBlock,
  UserMessage,
} from "../../shared/protocol/messages.ts";
import { type RecalledLine, remindedLines } from "./recalled-lines.ts";

/** A picture or file of a message: a stored object, or a file of this device. */
export interface ShownFile {
  name: string;
  mimeType: string;
  /** Key of the stored object, for `media.url`. */
  r2Key?: string;
  blob?: Blob;
  /** Base64. */
  data?: string;
}

interface OfEntry {
  /** Unique in the conversation. */
  key: string;
  /** Epoch ms. */
  at: number;
}

export interface UserEntry extends OfEntry {
  kind: "user";
  text: string;
  files: ShownFile[];
  /** The channel that it came from. */
  origin: string;
  runId?: string;
  /** Its number in the conversation, once it is stored. */
  seq?: number;
  /** What the gateway reminded the agent of with it, once it is stored. */
  reminders?: RecalledLine[];
  /**
   * Not accepted by the gateway yet: refused, or waiting for a connection, an earlier message, or its files. `uploaded`: the
   * share of these that is sent.
   */
  unsent?: { uploaded?: number; refused?: string };
}

export interface ReplyEntry extends OfEntry {
  kind: "reply";
  text: string;
  /** Text is still arriving. */
  isOpen: boolean;
  /** With a turn's last reply: US dollars of the turn's model calls. */
  dollars?: number;
}

export interface ThinkingEntry extends OfEntry {
  kind: "thinking";
  text: string;
}

export interface ToolEntry extends OfEntry {
  kind: "tool";
  tool: string;
  args: unknown;
  state: "running" | "ok" | "failed" | "lost";
  output: string;
  files: ShownFile[];
  /** How a command failed. */
  failure?: string;
  /** Time that it ran, ms. */
  durationMs?: number;
}

export interface NoteEntry extends OfEntry {
  kind: "note";
  text: string;
  isError: boolean;
}

export type Entry = UserEntry | ReplyEntry | ThinkingEntry | ToolEntry | NoteEntry;

/** The text of a message; thinking, images and calls left out. */
export function textOf({ content }: Pick<Message, "content">): string {
  if (typeof content === "string") return content;
  return content
    .flatMap((block) => (block.type === "text" && block.text !== "" ? [block.text] : []))
    .join("\n\n");
}

/**
 * The entries of stored messages, oldest first. A call without a result is `running` in the last turn when `isRunning`, and
 * `lost` otherwise.
 */
export function entriesOf(messages: readonly (Message & { seq?: number })[], isRunning: boolean): Entry[] {
  const entries: Entry[] = [];
  const calls = new Map<string, ToolEntry>();
  let dollars = 0;
  const ids = new Map<string, number>();
  for (const message of messages) {
    const id = uniqueId(replyId(message), ids);
    if (message.role === "user") {
      closeTurn(entries, dollars);
      dollars = 0;
      for (const call of calls.values()) if (call.state === "running") call.state = "lost";
      entries.push(userEntry(message, id));
    } else if (message.role === "assistant") {
      dollars += costOf(message);
      for (const entry of replyEntries(message, id)) {
        entries.push(entry);
        if (entry.kind === "tool") calls.set(entry.key, entry);
      }
    } else {
      const call = calls.get(message.toolCallId);
      if (!call) continue;
      call.state = message.isError ? "failed" : "ok";
      call.durationMs = Math.max(0, message.timestamp - call.at);
      Object.assign(call, outputOf(textOf(message)));
      call.files = filesOf(message.content);
    }
  }
  if (!isRunning) {
    closeTurn(entries, dollars);
    for (const call of calls.values()) if (call.state === "running") call.state = "lost";
  }
  return entries;
}

/** The entries, with those that equal an earlier one replaced by it: they need not be drawn again. */
export function withUnchanged(before: readonly Entry[], entries: readonly Entry[]): Entry[] {
  const known = new Map(before.map((entry) => [entry.key, entry]));
  return entries.map((entry) => {
    const same = known.get(entry.key);
    return same && isEqual(same, entry) ? same : entry;
  });
}

function isEqual(one: object, other: object): boolean {
  const values = Object.entries(one);
  return (
    values.length === Object.keys(other).length &&
    values.every(([name, value]) => {
      const second: unknown = other[name as keyof typeof other];
      if (typeof value !== "object" || typeof second !== "object") return value === second;
      return JSON.stringify(value) === JSON.stringify(second);
    })
  );
}

/** The key of a message: the same for its event and in the stored messages. */
export function replyId({ timestamp, role }: Pick<Message, "timestamp" | "role">): string {
  return `${timestamp}:${role}`;
}

function uniqueId(id: string, seen: Map<string, number>): string {
  const count = seen.get(id) ?? 0;
  seen.set(id, count + 1);
  return count === 0 ? id : `${id}:${count}`;
}

/** Writes the price of a turn to its last reply. */
function closeTurn(entries: Entry[], dollars: number): void {
  const last = entries.at(-1);
  if (last?.kind === "reply" && dollars > 0) last.dollars = dollars;
}

function userEntry(message: UserMessage & { seq?: number }, id: string): UserEntry {
  const { origin } = message;
  const runId = origin?.channel === "client" ? origin.messageId : undefined;
  const reminders = remindedLines(message);
  return {
    kind: "user",
    key: runId ?? id,
    at: message.timestamp,
    text: textOf(message),
    files: filesOf(message.content),
    origin: origin?.channel ?? "client",
    ...(runId ? { runId } : {}),
    ...(message.seq === undefined ? {} : { seq: message.seq }),
    ...(reminders.length === 0 ? {} : { reminders }),
  };
}

/** The entries of a reply: its thinking, its text, and its calls as running. */
export function replyEntries(message: AssistantMessage, id: string): Entry[] {
  const at = message.timestamp;
  const entries: Entry[] = [];
  const thinking = message.content.flatMap((block) =>
    block.type === "thinking" && block.thinking.trim() !== "" ? [block.thinking] : [],
  );
  if (thinking.length > 0)
    entries.push({ kind: "thinking", key: `${id}:thinking`, at, text: thinking.join("\n\n") });
  // The text of a reply that failed repeats the error.
  const text = message.errorMessage ? "" : textOf(message);
  if (text !== "") entries.push({ kind: "reply", key: id, at, text, isOpen: false });
  for (const block of message.content)
    if (block.type === "toolCall") {
      const { id: key, name: tool, arguments: args } = block;
      entries.push({ kind: "tool", key, at, tool, args, state: "running", output: "", files: [] });
    }
  if (message.errorMessage)
    entries.push({ kind: "note", key: `${id}:error`, at, text: message.errorMessage, isError: true });
  if (message.stopReason === "length")
    entries.push({
      kind: "note",
      key: `${id}:cut`,
      at,
      text: "The answer was cut off: it reached the model's limit of output tokens.",
      isError: false,
    });
  return entries;
}

function costOf({ usage }: AssistantMessage): number {
  const cost = usage?.cost;
  return typeof cost === "number" ? cost : (cost?.total ?? 0);
}

function filesOf(
  content: string | readonly (TextBlock | ImageBlock)[] | readonly { type: string }[],
): ShownFile[] {
  if (typeof content === "string") return [];
  return content.flatMap((block) => {
    if (block.type !== "image") return [];
    const { mimeType, r2Key, data } = block as ImageBlock;
    return [{ name: "image", mimeType, ...(r2Key ? { r2Key } : {}), ...(data ? { data } : {}) }];
  });
}

/** The output of a result as its reader wants it: that of a command without its JSON around it. */
export function outputOf(text: string): Pick<ToolEntry, "output" | "failure" | "durationMs"> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { output: text };
  }
  if (typeof value !== "object" || value === null || !("output" in value)) return { output: text };
  const { output, exitCode, durationMs } = value as Record<string, unknown>;
  if (typeof output !== "string") return { output: text };
  return {
    output,
    ...(typeof exitCode === "number" && exitCode !== 0 ? { failure: `exit ${exitCode}` } : {}),
    ...(typeof durationMs === "number" ? { durationMs } : {}),
  };
}
