import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { browserFault } from "./browser-guard.ts";
import { closeServer, listen } from "./http-endpoint.ts";

/** An HTTP server on the loopback interface, for streamed responses. */
export interface LoopbackServer {
  /** `http://127.0.0.1:{port}`, no trailing slash. */
  origin: string;
  /** Ends every connection and stops listening. Calling it again does nothing. */
  close(): Promise<void>;
}

/**
 * Listens on 127.0.0.1 only, for programs, not for web pages. `port` 0 (the default) selects a free port.
 * @throws PortInUseError
 */
export async function serveLoopback(listener: RequestListener, port = 0): Promise<LoopbackServer> {
  const server = createServer((request, response) => {
    const fault = browserFault(request.headers);
    if (fault === undefined) listener(request, response);
    else sendJson(response, 403, { error: { message: fault } });
  });
  const bound = await listen(server, port);
  return { origin: `http://127.0.0.1:${bound}`, close: () => closeServer(server) };
}

/** Reads the body. Undefined as soon as it exceeds `limit` bytes. Rejects when the client disconnects. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop must not close the connection: the error response is still to be sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Answers with a JSON body and its length. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

const eventStreamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
};

/** Opens a stream of server-sent events. */
export function openEventStream(response: ServerResponse, headers: Record<string, string> = {}): void {
  response.writeHead(200, { ...eventStreamHeaders, connection: "keep-alive", ...headers });
  response.flushHeaders();
}

/**
 * Writes a part of a response. Resolves when it is passed to the operating system or the connection is
 * closed.
 */
export function write(response: ServerResponse, text: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => response.write(text, () => resolve()));
}
