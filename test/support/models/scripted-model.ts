import { randomBytes } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { openEventStream, readBody, sendJson, serveLoopback, write } from "../../../local/http/loopback.ts";
import type { StreamFrame } from "../../../local/openai-wire/chat-reply.ts";
import { encodeFrame, inPieces } from "../../../local/openai-wire/chat-reply.ts";

/** What the scripted model does with one request. All fields may be combined unless they contradict each other. */
export interface Reply {
  /** The text; an array is streamed in exactly these pieces, a string in a few of the server's choosing. */
  text?: string | string[];
  /** Reasoning that comes before the text. */
  thinking?: string;
  /** Tool calls; `arguments` as a string is sent as it is, so it may be broken JSON. Ids are made up unless given. */
  toolCalls?: { id?: string; name: string; arguments?: Record<string, unknown> | string }[];
  /** Pause before each piece after the first, in ms. */
  delayMs?: number;
  /** Token counts; what is not given is characters / 4. */
  usage?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number };
  /** Why the model stopped; follows from the tool calls unless given. */
  stopReason?: StopReason;
  /** Refuse with this status. Without a body, the service's own body for that status. */
  error?: { status: number; message?: string; body?: unknown; headers?: Record<string, string> };
  /** Break off with an error event after this many pieces, as an overloaded service does. */
  streamError?: { afterPieces: number; message: string };
  /** Refuse to answer in these words (chat completions). */
  refusal?: string;
  /** Block the request, so that there is no answer at all (Google). */
  blocked?: boolean;
  /** Leave the token counts out of the stream. */
  withoutUsage?: boolean;
  /** Say nothing more once the text (if any) is out, until the client closes the connection. */
  hang?: boolean;
  /** Drop the connection after this many pieces. */
  cutAfterChunks?: number;
}

export type StopReason = "stop" | "length" | "toolUse" | "refusal";

/** One request as the server saw it, with the parts a test asks about in the same form for every wire format. */
export interface ModelRequest {
  /** Which format: the path without the version, `/messages`, `/chat/completions` or `/responses`. */
  path: string;
  headers: IncomingHttpHeaders;
  /** The parsed body, exactly as sent. */
  body: unknown;
  /** The system prompt; empty when refused. */
  system: string;
  /** The conversation without the system prompt; empty when refused. */
  turns: Turn[];
  /** Names of the tools offered; empty when refused. */
  tools: string[];
  /** The status answered; undefined while the request waits for its reply. */
  status?: number;
  /** The error body answered, if it was refused or scripted to fail. */
  refused?: unknown;
}

export interface Turn {
  role: "user" | "assistant" | "tool";
  text: string;
  toolCalls?: { id: string; name: string; arguments: unknown }[];
  /** The call a tool turn answers. */
  toolCallId?: string;
  isError?: boolean;
}

/** Replies in order, or a function of the request and its number (0 is the first accepted one). */
export type Script = Reply[] | ((request: ModelRequest, index: number) => Reply | Promise<Reply>);

export interface ModelServer {
  /** The base URL a client is configured with. */
  url: string;
  /** Every request, refused ones too, in order of arrival. */
  requests: ModelRequest[];
  /** Requests being answered now, and the most there ever were at once. */
  active(): number;
  peak(): number;
  /** Requests whose client went away before the answer was complete. */
  aborted(): number;
  /** Adds replies behind those still waiting. Not for a server whose script is a function. */
  queue(...replies: Reply[]): void;
  /** Replies not used yet. */
  pending(): number;
  close(): Promise<void>;
}

/** A refusal: the status and the service's own error body. */
export interface Refusal {
  status: number;
  body: unknown;
}

/** A reply with everything filled in, ready to be put into a wire format. */
export interface ResolvedReply {
  text: string[];
  thinking: string[];
  toolCalls: { id?: string; name: string; arguments: string[] }[];
  usage: { input: number; output: number; cacheRead: number; cacheWrite: number };
  stopReason: StopReason;
  refusal: string[];
  blocked: boolean;
  withoutUsage: boolean;
}

/** What a wire format makes of a good request. */
export interface Accepted {
  view: Pick<ModelRequest, "system" | "turns" | "tools">;
  stream: boolean;
  /** The streamed answer; pieces are marked. */
  frames(reply: ResolvedReply): Iterable<StreamFrame>;
  /** The same answer as one JSON object. */
  whole(reply: ResolvedReply): unknown;
}

/** One wire format. */
export interface Wire {
  /** `/v1/messages` and so on; a pattern where the path names the model. */
  path: string | RegExp;
  /** A frame as it goes over the wire; server-sent events unless given. */
  encode?(frame: StreamFrame): Uint8Array;
  /** Authentication first, then the body; undefined stands for a body that is not JSON. */
  accept(headers: IncomingHttpHeaders, body: unknown): Accepted | Refusal;
  /** The service's error body for a status. */
  errorBody(status: number, message: string): unknown;
  /** An error in the middle of a stream. */
  errorFrame(message: string): StreamFrame;
  /** Response headers every answer carries. */
  headers(): Record<string, string>;
}

/** An identifier in the services' style: a prefix and 24 letters and digits. */
export function wireId(prefix: string): string {
  return prefix + randomBytes(12).toString("hex");
}

/** Tool-call arguments as the client wrote them: parsed, or the text itself where it is not JSON. */
export function parseArguments(json: string): unknown {
  return parseJson(json) ?? json;
}

/** The largest request body the services take, in bytes. */
const MAX_BODY = 32 * 1024 * 1024;

/** Serves wire formats from one script on 127.0.0.1. `base` is what is added to the origin to make the client's URL. */
export async function serveScript(wires: Wire[], base: string, script: Script): Promise<ModelServer> {
  const state = { requests: [] as ModelRequest[], active: 0, peak: 0, aborted: 0, closing: false, served: 0 };
  const waiting = Array.isArray(script) ? [...script] : [];

  const nextReply = async (request: ModelRequest): Promise<Reply> => {
    const index = state.served++;
    if (!Array.isArray(script)) return runScript(script, request, index);
    const missing = `no reply is scripted for request ${index + 1}`;
    return waiting.shift() ?? { error: { status: 400, message: missing } };
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const wire = wires.find((one) => isAt(one, pathname) && request.method === "POST");
    if (!wire)
      return sendJson(response, 404, wires[0]?.errorBody(404, `Invalid URL (${request.method} ${pathname})`));
    const bytes = await readBody(request, MAX_BODY);
    if (!bytes) return sendJson(response, 413, wire.errorBody(413, "Request exceeds the maximum size"));
    const body = parseJson(bytes.toString("utf8"));
    const seen: ModelRequest = {
      path: pathname.replace(/^\/v1/, ""),
      headers: request.headers,
      body,
      system: "",
      turns: [],
      tools: [],
    };
    state.requests.push(seen);
    const accepted = unreadable(wire, body) ?? wire.accept(request.headers, body);
    if ("status" in accepted) return refuse(response, wire, seen, accepted);
    Object.assign(seen, accepted.view);
    await answer(response, wire, seen, accepted, await nextReply(seen));
  };

  const server = await serveLoopback((request, response) => {
    state.active++;
    state.peak = Math.max(state.peak, state.active);
    response.on("close", () => {
      state.active--;
      if (!response.writableFinished && !response.errored && !state.closing) state.aborted++;
    });
    serve(request, response).catch((error: Error) => response.destroy(error));
  });

  return {
    url: server.origin + base,
    requests: state.requests,
    active: () => state.active,
    peak: () => state.peak,
    aborted: () => state.aborted,
    queue: (...replies) => {
      if (!Array.isArray(script)) throw new Error("the script of this server is a function");
      waiting.push(...replies);
    },
    pending: () => waiting.length,
    close: () => {
      state.closing = true;
      return server.close();
    },
  };
}

function isAt({ path }: Wire, pathname: string): boolean {
  return typeof path === "string" ? path === pathname : path.test(pathname);
}

/** Half a surrogate pair is valid in JSON, but in no UTF-8 text. */
function unreadable(wire: Wire, body: unknown): Refusal | undefined {
  if (body === undefined || !/(?<!\\)\\ud[89a-f][0-9a-f]{2}/i.test(JSON.stringify(body))) return undefined;
  return { status: 400, body: wire.errorBody(400, "The request body is not valid JSON: invalid surrogate") };
}

/** A script that throws is refused with its message, rather than leaving the test with a dropped connection. */
async function runScript(
  script: Exclude<Script, Reply[]>,
  request: ModelRequest,
  index: number,
): Promise<Reply> {
  try {
    return await script(request, index);
  } catch (error) {
    return { error: { status: 400, message: `the script failed: ${(error as Error).message}` } };
  }
}

/** Marks a response as dropped by the server itself, so that it does not count as a client that went away. */
const CUT = new Error("connection dropped by the script");

async function answer(
  response: ServerResponse,
  wire: Wire,
  seen: ModelRequest,
  accepted: Accepted,
  reply: Reply,
): Promise<void> {
  if (reply.error) {
    const {
      status,
      message = `scripted error ${status}`,
      body = wire.errorBody(status, message),
      headers,
    } = reply.error;
    return refuse(response, wire, seen, { status, body }, headers);
  }
  seen.status = 200;
  const resolved = resolveReply(reply, JSON.stringify(seen.body).length);
  if (reply.hang && resolved.text.length === 0) return;
  if (!accepted.stream) return sendJson(response, 200, accepted.whole(resolved), wire.headers());
  openEventStream(response, wire.headers());
  await play(response, wire, accepted.frames(resolved), reply, resolved);
}

/** Streams the frames; the script says where it breaks off. */
async function play(
  response: ServerResponse,
  wire: Wire,
  frames: Iterable<StreamFrame>,
  reply: Reply,
  resolved: ResolvedReply,
): Promise<void> {
  const spoken = resolved.thinking.length + resolved.text.length;
  let pieces = 0;
  const encode = wire.encode ?? encodeFrame;
  for (const frame of frames) {
    if (response.destroyed) return;
    if (reply.cutAfterChunks !== undefined && pieces >= reply.cutAfterChunks) {
      response.destroy(CUT);
      return;
    }
    if (reply.streamError && pieces >= reply.streamError.afterPieces) {
      response.end(encode(wire.errorFrame(reply.streamError.message)));
      return;
    }
    if (reply.hang && pieces >= spoken) return;
    if (frame.piece && pieces++ > 0 && reply.delayMs) await delay(reply.delayMs);
    await write(response, encode(frame));
  }
  response.end();
}

function refuse(
  response: ServerResponse,
  wire: Wire,
  seen: ModelRequest,
  refusal: Refusal,
  headers: Record<string, string> = {},
): void {
  seen.status = refusal.status;
  seen.refused = refusal.body;
  sendJson(response, refusal.status, refusal.body, { ...wire.headers(), ...headers });
}

function resolveReply(reply: Reply, requestLength: number): ResolvedReply {
  const text = Array.isArray(reply.text) ? reply.text : inPieces(reply.text ?? "", 4);
  const thinking = inPieces(reply.thinking ?? "", 2);
  const toolCalls = (reply.toolCalls ?? []).map((call) => {
    const json = typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {});
    return { id: call.id, name: call.name, arguments: inPieces(json, 3) };
  });
  const written = [...thinking, ...text, ...toolCalls.flatMap((call) => call.arguments)].join("").length;
  return {
    text,
    thinking,
    toolCalls,
    usage: {
      input: reply.usage?.input ?? Math.ceil(requestLength / 4),
      output: reply.usage?.output ?? Math.ceil(written / 4),
      cacheRead: reply.usage?.cacheRead ?? 0,
      cacheWrite: reply.usage?.cacheWrite ?? 0,
    },
    refusal: inPieces(reply.refusal ?? "", 2),
    blocked: reply.blocked ?? false,
    withoutUsage: reply.withoutUsage ?? false,
    stopReason: reply.stopReason ?? (toolCalls.length > 0 ? "toolUse" : "stop"),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
