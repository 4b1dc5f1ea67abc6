import * as v from "valibot";
import { code, PeerError } from "../protocol/errors.ts";
import type { Message } from "../protocol/messages.ts";
import type { ImportFormat, TurnsLine } from "../protocol/objects.ts";
import { isNestedDeeper } from "../protocol/schemas.ts";
import { imageNote } from "./exports.ts";
import { fromTurnLines } from "./turns.ts";

/** Maximum messages of an imported conversation. */
const maxMessages = 100_000;

/** Maximum levels of nested lists and objects in a line. */
const maxLevels = 100;

const time = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(8_640_000_000_000_000));
const optionalText = v.optional(v.string());
const textBlock = v.object({ type: v.literal("text"), text: v.string(), textSignature: optionalText });
/** An image becomes a note, because its bytes stay in the bucket that it was exported from. */
const imageBlock = v.pipe(
  v.object({
    type: v.literal("image"),
    mimeType: v.string(),
    r2Key: optionalText,
    size: v.optional(v.number()),
  }),
  v.transform((image) => ({ type: "text" as const, text: imageNote(image) })),
);
const userContent = v.array(v.variant("type", [textBlock, imageBlock]));
const replyBlock = v.variant("type", [
  textBlock,
  v.object({
    type: v.literal("thinking"),
    thinking: v.string(),
    thinkingSignature: optionalText,
    redacted: v.optional(v.boolean()),
  }),
  v.object({
    type: v.literal("toolCall"),
    id: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)),
    providerId: optionalText,
    name: v.string(),
    arguments: v.unknown(),
    thoughtSignature: optionalText,
  }),
]);
const tokens = v.pipe(v.number(), v.minValue(0));
const cost = v.object(v.entriesFromList(["input", "output", "cacheRead", "cacheWrite", "total"], tokens));
const userMessage = v.object({
  role: v.literal("user"),
  content: v.union([v.string(), userContent]),
  origin: v.optional(
    v.object({
      ...v.entriesFromList(["channel", "messageId"], v.string()),
      ...v.entriesFromList(["accountId", "peerKind", "peerId", "senderId"], optionalText),
    }),
  ),
  tail: optionalText,
  timestamp: time,
});
const reply = v.object({
  role: v.literal("assistant"),
  content: v.array(replyBlock),
  api: optionalText,
  provider: optionalText,
  model: optionalText,
  usage: v.optional(
    v.object({
      ...v.entriesFromList(["input", "output", "cacheRead", "cacheWrite", "totalTokens"], tokens),
      cost: v.optional(v.union([tokens, cost])),
      unpriced: v.optional(v.literal(true)),
    }),
  ),
  stopReason: optionalText,
  errorMessage: optionalText,
  context: v.optional(
    v.object({
      ...v.entriesFromList(["prompt", "active", "model"], v.string()),
      ...v.entriesFromList(["tail", "basis"], optionalText),
      cached: v.optional(v.literal("long")),
    }),
  ),
  timestamp: time,
});
const toolResult = v.object({
  role: v.literal("toolResult"),
  toolCallId: v.string(),
  toolName: v.string(),
  content: userContent,
  isError: v.boolean(),
  timestamp: time,
});
const message = v.variant("role", [userMessage, reply, toolResult]);

const metaFields = v.record(v.string(), v.unknown());
const turnsLine = v.variant("type", [
  v.object({ type: v.literal("session"), version: v.literal(1) }),
  v.object({
    type: v.literal("turn"),
    user: v.optional(v.union([v.string(), v.array(v.unknown())])),
    user_meta: v.optional(metaFields),
    assistant: v.array(v.unknown()),
    assistant_meta: v.optional(metaFields),
    toolcall_ids: v.array(v.string()),
    unanswered: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  }),
  v.object({
    type: v.literal("toolcall"),
    id: v.string(),
    tool: v.string(),
    status: v.picklist(["ok", "fail"]),
    output: v.array(v.unknown()),
    result_at: v.number(),
  }),
]);

/**
 * Parses an export. Images become notes, because an export does not contain their bytes.
 * @param text lines of JSON
 * @throws PeerError 400 that names the line or message and its fault
 */
export function parseImport(text: string, format: ImportFormat): Message[] {
  const values = text.split("\n").flatMap((line, i) => {
    if (line.trim() === "") return [];
    return [{ where: `line ${i + 1}`, value: parseLine(line, i + 1) }];
  });
  const messages = format === "pi" ? values : messagesOf(values);
  if (messages.length > maxMessages) throw refused(`more than ${maxMessages} messages`);
  const checked = messages.map(({ where, value }) => check(message, where, value) as Message);
  if (checked.length === 0) throw refused("no messages");
  if (checked[0]?.role !== "user") throw refused("a conversation must begin with a user message");
  return checked;
}

interface Found {
  where: string;
  value: unknown;
}

function messagesOf(lines: readonly Found[]): Found[] {
  // The remaining fields are checked with the messages.
  const turns = lines.map(({ where, value }) => check(turnsLine, where, value) as TurnsLine);
  return fromTurnLines(turns).map((value, i) => ({ where: `message ${i + 1}`, value }));
}

function parseLine(line: string, number: number): unknown {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw refused(`line ${number} is not JSON`);
  }
  if (isNestedDeeper(value, maxLevels))
    throw refused(`line ${number} has more than ${maxLevels} levels of lists and objects`);
  return value;
}

function check<T>(schema: v.GenericSchema<unknown, T>, where: string, value: unknown): T {
  const parsed = v.safeParse(schema, value, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const path = v.getDotPath(issue);
  throw refused(`${where}: ${path === null ? "" : `${path}: `}${issue.message}`);
}

function refused(reason: string): PeerError {
  return new PeerError(code.badRequest, `lines: ${reason}`);
}
