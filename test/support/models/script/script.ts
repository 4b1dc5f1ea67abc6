import type { IncomingHttpHeaders } from "node:http";
import type { StreamFrame } from "../openai-wire/chat-reply.ts";

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
