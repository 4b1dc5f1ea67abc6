import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import * as v from "valibot";
import { parseRecord } from "../http/json.ts";
import { openEventStream, readBody, sendJson, serveLoopback, write } from "../http/loopback.ts";
import { chatRequest, type Move, nextMove } from "./offline-turn.ts";

/** The offline model while it is served. */
export interface OfflineModel {
  /** The base URL for OpenAI-compatible clients; ends in `/v1`. */
  url: string;
  model: "offline";
  close(): Promise<void>;
}

/** Max size of a request body, in bytes. */
const maxBytes = 32 * 1024 * 1024;

/**
 * Serves the built-in offline model on 127.0.0.1, by the streamed form of OpenAI's chat completions. The model is a set
 * of rules that answers from real tool calls, and its first answer says so. `port` 0 (the default) selects a free port.
 * @throws PortInUseError
 */
export async function startOfflineModel(options: { port?: number } = {}): Promise<OfflineModel> {
  const server = await serveLoopback((request, response) => {
    // Reached only when a client disconnects during its request.
    serve(request, response).catch(() => response.destroy());
  }, options.port);
  return { url: `${server.origin}/v1`, model: "offline", close: server.close };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const route = `${request.method} ${request.url?.split("?")[0]}`;
  const body = await readBody(request, maxBytes);
  if (route !== "POST /v1/chat/completions") return refuse(response, 404, `Invalid URL (${route})`);
  if (body === undefined) return refuse(response, 413, `The request is larger than ${maxBytes} bytes.`);
  const read = v.safeParse(chatRequest, parseRecord(body.toString("utf8")));
  if (!read.success) return refuse(response, 400, v.summarize(read.issues));
  openEventStream(response);
  for (const chunk of chunksOf(nextMove(read.output), body))
    await write(response, `data: ${JSON.stringify(chunk)}\n\n`);
  response.end("data: [DONE]\n\n");
}

function refuse(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { error: { message, type: "invalid_request_error", param: null, code: null } });
}

/** The chunks of a streamed answer (API reference, "The chat completion chunk object"). */
function* chunksOf(move: Move, body: Buffer): Generator<object> {
  const digest = createHash("sha256").update(body).digest("hex").slice(0, 24);
  const created = Math.floor(Date.now() / 1000);
  const head = { id: `chatcmpl-${digest}`, object: "chat.completion.chunk", created, model: "offline" };
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  });
  yield chunk({ role: "assistant", content: "" });
  const spoken = "text" in move ? move.text : JSON.stringify(move.args);
  if ("text" in move) for (const piece of piecesOf(move.text)) yield chunk({ content: piece });
  else {
    const call = { index: 0, id: `call_${digest}`, type: "function" };
    yield chunk({ tool_calls: [{ ...call, function: { name: move.name, arguments: spoken } }] });
  }
  yield chunk({}, "text" in move ? "stop" : "tool_calls");
  const [prompt_tokens, completion_tokens] = [Math.ceil(body.length / 4), Math.ceil(spoken.length / 4)];
  const total_tokens = prompt_tokens + completion_tokens;
  yield { ...head, choices: [], usage: { prompt_tokens, completion_tokens, total_tokens, cost: 0 } };
}

/** Cuts a text into about six pieces, between words. */
function piecesOf(text: string): string[] {
  return text.match(new RegExp(`[\\s\\S]{1,${Math.ceil(text.length / 6)}}\\S*`, "g")) ?? [];
}
