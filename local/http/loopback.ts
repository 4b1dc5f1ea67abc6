import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { closeServer, listen } from "./http-endpoint.ts";

/** An HTTP server that only this machine can reach, for answers that are streamed. */
export interface LoopbackServer {
  /** `http://127.0.0.1:{port}`, no trailing slash. */
  origin: string;
  /** Ends every connection and stops listening. Calling it again does nothing. */
  close(): Promise<void>;
}

/**
 * Serves on 127.0.0.1 alone. `port` 0 (the default) takes a free one.
 * @throws PortInUseError
 */
export async function serveLoopback(listener: RequestListener, port = 0): Promise<LoopbackServer> {
  const server = createServer(listener);
  const bound = await listen(server, port);
  return { origin: `http://127.0.0.1:${bound}`, close: () => closeServer(server) };
}

/** The whole body, or undefined as soon as it is larger than `limit` bytes. Rejects when the client leaves. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop must not end the connection: the refusal still has to be sent over it.
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

/** Opens a stream of server-sent events. */
export function openEventStream(response: ServerResponse, headers: Record<string, string> = {}): void {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    connection: "keep-alive",
    ...headers,
  });
  response.flushHeaders();
}

/** Writes one piece of a response; resolves once it is handed to the system, or the connection is gone. */
export function write(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => response.write(text, () => resolve()));
}
