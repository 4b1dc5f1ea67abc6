import { createHash, randomUUID } from "node:crypto";
import * as v from "valibot";
import { code, PeerError } from "../../shared/protocol/errors.ts";

/** Max attachments of a message, as `chat.send` accepts them. */
const maxMedia = 10;

const url = v.object({ url: v.string() });
const part = v.variant("type", [
  v.object({ type: v.literal("text"), text: v.string() }),
  v.object({ type: v.literal("image_url"), image_url: v.union([v.string(), url]) }),
  v.object({
    type: v.literal("input_audio"),
    input_audio: v.object({ data: v.string(), format: v.string() }),
  }),
  v.object({
    type: v.literal("file"),
    file: v.object({ file_data: v.string(), filename: v.optional(v.string()) }),
  }),
]);
type Part = v.InferOutput<typeof part>;

/** The fields that are read. Others, such as `temperature` and `tools`, are ignored: the agent has its own. */
const requestSchema = v.object({
  model: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  messages: v.pipe(v.array(v.object({ role: v.string(), content: v.optional(v.unknown()) })), v.minLength(1)),
  stream: v.optional(v.nullable(v.boolean())),
  stream_options: v.optional(v.nullable(v.object({ include_usage: v.optional(v.nullable(v.boolean())) }))),
  user: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(512)))),
});

/** An attachment of the message. */
export interface Attachment {
  type: "image" | "audio" | "document";
  mimeType: string;
  bytes: Uint8Array;
  filename?: string;
}

/** A request for a completion, as the gateway understands it. */
export interface ChatRequest {
  /** The agent, as the client named it. */
  model: string;
  /** The name of the session, without the agent. */
  session: string;
  /** The newest message of the user: the session has the earlier ones. */
  text: string;
  media: Attachment[];
  runId: string;
  /** Whether the client named the run, so that it may have been sent before. */
  isNamed: boolean;
  isStreamed: boolean;
  /** Whether the stream ends with the usage. */
  hasUsage: boolean;
}

/**
 * Reads a request for a completion.
 * @param headers in lower case. `idempotency-key` names the run; `x-openwebui-chat-id` names the session of a request without `user`
 * @throws PeerError 400
 */
export function readChatRequest(body: string, headers: Record<string, string | undefined>): ChatRequest {
  const { model, messages, stream, stream_options, user } = parse(body);
  const from = messages.findLastIndex(({ role }) => role === "assistant" || role === "tool") + 1;
  const parts = messages.slice(from).flatMap((one) => (one.role === "user" ? partsOf(one.content) : []));
  if (parts.length === 0)
    throw invalid("messages: expected a user message at the end; this gateway sends it to the session");
  const media = parts.flatMap(attachmentOf);
  if (media.length > maxMedia) throw invalid(`messages: expected at most ${maxMedia} attachments`);
  const text = parts
    .flatMap((one) => (one.type === "text" && one.text !== "" ? [one.text] : []))
    .join("\n\n");
  const key = headers["idempotency-key"];
  return {
    model,
    session: sessionOf(user ?? headers["x-openwebui-chat-id"], text, messages.length),
    text: text.trim() === "" ? "(see the attachment)" : text,
    media,
    runId: `openai-${key === undefined ? randomUUID() : createHash("sha256").update(key).digest("hex")}`,
    isNamed: key !== undefined,
    isStreamed: stream === true,
    hasUsage: stream_options?.include_usage === true,
  };
}

/** Open WebUI asks for titles, tags and follow-up questions in messages that begin so. They belong to no conversation. */
const taskStart = "### Task:";

function sessionOf(name: string | undefined, text: string, messages: number): string {
  if (messages === 1 && text.startsWith(taskStart)) return "openai-tasks";
  return name === undefined || name === "" ? "openai" : `openai-${name}`;
}

function parse(body: string): v.InferOutput<typeof requestSchema> {
  const result = v.safeParse(requestSchema, jsonOf(body), { abortEarly: true });
  if (result.success) return result.output;
  throw invalid(`${v.getDotPath(result.issues[0]) ?? "body"}: ${result.issues[0].message}`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid("body: expected JSON");
  }
}

function partsOf(content: unknown): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  const result = v.safeParse(v.array(part), content, { abortEarly: true });
  if (result.success) return result.output;
  throw invalid("messages: expected content of text, image_url, input_audio or file");
}

function attachmentOf(one: Part): Attachment[] {
  switch (one.type) {
    case "text":
      return [];
    case "image_url":
      return [
        { type: "image", ...dataOf(typeof one.image_url === "string" ? one.image_url : one.image_url.url) },
      ];
    case "input_audio": {
      const { data, format } = one.input_audio;
      const mimeType = format === "mp3" ? "audio/mpeg" : `audio/${format}`;
      return [{ type: "audio", mimeType, bytes: Buffer.from(data, "base64") }];
    }
    case "file": {
      const { file_data, filename } = one.file;
      return [{ type: "document", ...dataOf(file_data), ...(filename === undefined ? {} : { filename }) }];
    }
  }
}

function dataOf(address: string): { mimeType: string; bytes: Uint8Array } {
  const [, mimeType, data] = /^data:([\w.+/-]{1,255})(?:;[\w=-]+)*;base64,(.+)$/s.exec(address) ?? [];
  if (mimeType !== undefined && data !== undefined) return { mimeType, bytes: Buffer.from(data, "base64") };
  throw invalid("messages: expected attachments as data URLs in base64; this gateway downloads none");
}

function invalid(message: string): PeerError {
  return new PeerError(code.badRequest, message);
}
