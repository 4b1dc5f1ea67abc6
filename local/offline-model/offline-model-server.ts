import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { openEventStream, readBody, sendJson, serveLoopback, write } from "../http/loopback.ts";
import {
  type ChatReply,
  chatChunks,
  chatCompletion,
  encodeFrame,
  inPieces,
} from "../openai-wire/chat-reply.ts";
import { type ChatRequest, readChatRequest } from "../openai-wire/chat-request.ts";
import { type OpenAiFault, openAiError } from "../openai-wire/openai-error.ts";
import { label, readTurn } from "./chat-turn.ts";
import { nextMove } from "./next-move.ts";
import { readTools } from "./offered-tools.ts";
import { readIntent } from "./offline-requests.ts";

/** The offline model while it is served. */
export interface OfflineModel {
  /** The base URL for OpenAI-compatible clients; ends in `/v1`. */
  url: string;
  model: "offline";
  close(): Promise<void>;
}

const model = "offline";
/** The largest request body, in bytes. */
const maxBytes = 32 * 1024 * 1024;
/** Pieces an answer is streamed in. */
const pieces = 6;

/**
 * Serves the built-in offline model on 127.0.0.1: `POST /v1/chat/completions` (streamed or not) and `GET
 * /v1/models`, as OpenAI-compatible servers do. The model is a set of rules that answers from real tool
 * calls, and its first answer states this. Equal requests get equal answers. `port` 0 (the default) selects a
 * free port.
 * @throws PortInUseError
 */
export async function startOfflineModel(options: { port?: number } = {}): Promise<OfflineModel> {
  const server = await serveLoopback((request, response) => {
    // Reached only when a client disconnects during its request.
    serve(request, response).catch(() => response.destroy());
  }, options.port);
  return { url: `${server.origin}/v1`, model, close: server.close };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url?.split("?")[0] ?? "/";
  const route = `${request.method} ${path}`;
  if (route === "GET /v1/models") {
    sendJson(response, 200, { object: "list", data: [modelObject] });
  } else if (route === `GET /v1/models/${model}`) {
    sendJson(response, 200, modelObject);
  } else if (route === "POST /v1/chat/completions") {
    await complete(request, response);
  } else {
    request.resume();
    refuse(response, 404, { message: `Invalid URL (${route})` });
  }
}

const modelObject = { id: model, object: "model", created: 0, owned_by: "gsv" };

async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const bytes = await readBody(request, maxBytes);
  if (!bytes) return refuse(response, 413, { message: `The request is larger than ${maxBytes} bytes.` });
  const read = readChatRequest(parse(bytes));
  if (!read.ok) return refuse(response, 400, read.fault);
  const { request: chat } = read;
  if (chat.model !== model)
    return refuse(response, 404, {
      message: `The model \`${chat.model}\` does not exist: this is the built-in offline model, \`${model}\`.`,
      code: "model_not_found",
    });
  const reply = replyTo(chat);
  if (!chat.stream) return sendJson(response, 200, chatCompletion(reply));
  openEventStream(response);
  for (const frame of chatChunks(reply, chat.stream_options?.include_usage === true))
    await write(response, encodeFrame(frame));
  response.end();
}

function replyTo(chat: ChatRequest): ChatReply {
  const { question, steps, labelled } = readTurn(chat.messages);
  const tools = readTools(chat.tools);
  const move = nextMove(readIntent(question, [...tools.nodes.keys()]), steps, tools);
  const seed = JSON.stringify([chat.messages, chat.tools]);
  const calls = "calls" in move ? move.calls : [];
  const text = "text" in move ? `${labelled ? "" : `${label}\n\n`}${move.text}` : "";
  const toolCalls = calls.map(({ name, args }, i) => ({
    id: `call_${digest(`${seed}${i}`)}`,
    name,
    arguments: inPieces(JSON.stringify(args), 2),
  }));
  const written = text.length + toolCalls.reduce((sum, call) => sum + call.arguments.join("").length, 0);
  return {
    id: `chatcmpl-${digest(seed)}`,
    model,
    created: Math.floor(Date.now() / 1000),
    text: inPieces(text, pieces),
    toolCalls,
    finishReason: calls.length > 0 ? "tool_calls" : "stop",
    usage: { prompt: Math.ceil(seed.length / 4), completion: Math.ceil(written / 4) },
  };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 24);
}

function refuse(response: ServerResponse, status: number, fault: OpenAiFault): void {
  sendJson(response, status, openAiError(fault));
}

/** Parses JSON. Returns undefined for invalid JSON. */
function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}
