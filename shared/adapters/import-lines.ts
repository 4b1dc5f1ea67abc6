import * as v from "valibot";
import { code, PeerError } from "../protocol/errors.ts";
import type { Message } from "../protocol/messages.ts";
import type { ImportFormat, TurnsLine } from "../protocol/objects.ts";
import { imageNote } from "./chat-texts.ts";
import { fromTurnLines } from "./turns-adapter.ts";

/** Most messages of a conversation that is imported. */
const mostMessages = 100_000;

/** How deeply lists and objects of a line may stand in each other. */
const mostLevels = 100;

const time = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(8_640_000_000_000_000));
const optionalText = v.optional(v.string());
const textBlock = v.object({ type: v.literal("text"), text: v.string(), textSignature: optionalText });
/** The bytes of an image lie in the bucket that it was exported from, so a note stands in its place. */
const imageBlock = v.pipe(
  v.object({
    type: v.literal("image"),
    mimeType: v.string(),
    r2Key: optionalText,
    size: v.optional(v.number()),
  }),
  v.transform((image) => ({ type: "text" as const, text: imageNote(image) })),
);
const said = v.array(v.variant("type", [textBlock, imageBlock]));
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
const userMessage = v.object({
  role: v.literal("user"),
  content: v.union([v.string(), said]),
  origin: v.optional(
    v.object({
      channel: v.string(),
      accountId: optionalText,
      peerKind: optionalText,
      peerId: optionalText,
      senderId: optionalText,
      messageId: v.string(),
    }),
  ),
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
      input: tokens,
      output: tokens,
      cacheRead: tokens,
      cacheWrite: tokens,
      totalTokens: tokens,
    }),
  ),
  stopReason: optionalText,
  errorMessage: optionalText,
  context: v.optional(
    v.object({ prompt: v.string(), tail: v.string(), active: v.string(), model: v.string() }),
  ),
  timestamp: time,
});
const toolResult = v.object({
  role: v.literal("toolResult"),
  toolCallId: v.string(),
  toolName: v.string(),
  content: said,
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
 * The messages of an export, checked. Images become notes: their bytes are not in an export.
 * @param text lines of JSON
 * @throws PeerError 400 that names the line, or the message, and what is wrong with it
 */
export function parseImport(text: string, format: ImportFormat): Message[] {
  const values = text.split("\n").flatMap((line, i) => {
    if (line.trim() === "") return [];
    return [{ where: `line ${i + 1}`, value: parseLine(line, i + 1) }];
  });
  const messages = format === "pi" ? values : ofTurns(values);
  if (messages.length > mostMessages) throw refused(`more than ${mostMessages} messages`);
  const checked = messages.map(({ where, value }) => check(message, where, value) as Message);
  if (checked.length === 0) throw refused("there are no messages in it");
  if (checked[0]?.role !== "user") throw refused("a conversation begins with a message of a user");
  return checked;
}

interface Found {
  where: string;
  value: unknown;
}

function ofTurns(lines: readonly Found[]): Found[] {
  // The fields that are not checked here are checked as those of messages.
  const turns = lines.map(({ where, value }) => check(turnsLine, where, value) as TurnsLine);
  return fromTurnLines(turns).map((value, i) => ({ where: `message ${i + 1}`, value }));
}

function parseLine(line: string, number: number): unknown {
  const value = parseJson(line, number);
  if (isDeep(value)) throw refused(`line ${number} has more than ${mostLevels} levels of lists and objects`);
  return value;
}

function parseJson(line: string, number: number): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    throw refused(`line ${number} is no JSON`);
  }
}

function isDeep(value: unknown, levels = mostLevels): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeep(one, levels - 1));
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
