import { setImmediate as nextTurn } from "node:timers/promises";

/** A request that can be answered without a connection. */
export interface InProcessRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string;
}

/** Answers a request. Returns headers instead when the request is to be sent over a connection, with these headers added. */
export type InProcessAnswer = (
  request: InProcessRequest,
) => Promise<Response | { headers: Record<string, string> }>;

interface InProcessServer {
  answer: InProcessAnswer;
  /** Told of each request before `answer` is, and of its end. `isAbandoned`: the client went away before it was answered. */
  started(): void;
  ended(isAbandoned: boolean): void;
}

interface Served extends InProcessServer {
  /** Aborted when the server is closed. */
  closed: AbortSignal;
}

/** By origin. */
const servers = new Map<string, Served>();

/** The fetch that always makes a connection. */
export const fetchOverSockets = globalThis.fetch;

/**
 * Lets `fetch` in this process reach a server of this process without a connection, which takes most of the time of a
 * short request. Everybody else reaches it as before, and so does a request with a body that is no text. A redirect is
 * not followed.
 * @returns ends it; who still waits for an answer then sees the connection break
 */
export function answerInProcess(origin: string, server: InProcessServer): () => void {
  const closing = new AbortController();
  servers.set(origin, { ...server, closed: closing.signal });
  return () => {
    servers.delete(origin);
    const cause = Object.assign(new Error("the server has closed"), { code: "ECONNRESET" });
    closing.abort(new TypeError("fetch failed", { cause }));
  };
}

globalThis.fetch = async (input, init = {}) => {
  const { method = "GET", body, signal } = init;
  const server = input instanceof Request ? undefined : servers.get(originOf(String(input)));
  if (!server || typeof (body ?? "") !== "string") return fetchOverSockets(input, init);
  signal?.throwIfAborted();
  const headers: Record<string, string> = Object.fromEntries(new Headers(init.headers));
  if (typeof body === "string") headers["content-type"] ??= "text/plain;charset=UTF-8";
  const request = { method, url: new URL(String(input)), headers, body: String(body ?? "") };
  const answered = await answeredBy(server, request, signal);
  if (answered instanceof Response) return answered;
  return fetchOverSockets(input, { ...init, headers: { ...headers, ...answered.headers } });
};

/** Empty for what is no address, which the fetch complains of. */
function originOf(url: string): string {
  return /^https?:\/\/[^/?#]+/.exec(url)?.[0] ?? "";
}

async function answeredBy(server: Served, request: InProcessRequest, signal?: AbortSignal | null) {
  server.started();
  let isAbandoned = true;
  try {
    // As over a connection, nothing is answered before the client has gone on.
    await nextTurn();
    const signals = signal ? [server.closed, signal] : [server.closed];
    const answered = await unless(signals, server.answer(request));
    isAbandoned = false;
    return answered;
  } finally {
    server.ended(isAbandoned);
  }
}

/** What is awaited, unless one of the signals comes first: rejects with its reason then. */
async function unless<T>(signals: AbortSignal[], awaited: Promise<T>): Promise<T> {
  let end = () => {};
  const broken = new Promise<never>((_, reject) => {
    end = () => reject(signals.find((signal) => signal.aborted)?.reason);
    if (signals.some((signal) => signal.aborted)) end();
  });
  for (const signal of signals) signal.addEventListener("abort", end);
  try {
    return await Promise.race([awaited, broken]);
  } finally {
    for (const signal of signals) signal.removeEventListener("abort", end);
  }
}
