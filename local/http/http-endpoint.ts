import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** A request whose body has arrived completely. */
export interface HttpRequest {
  method: string;
  /** Path as sent, still percent-encoded, without the query. */
  path: string;
  /** Query as sent, without the question mark; empty when there is none. */
  rawQuery: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  sourceIp: string;
}

export interface HttpResponse {
  status: number;
  headers?: Record<string, string | string[]>;
  /** Pieces are sent one after the other; when the client leaves, no more are asked for. */
  body?: string | Buffer | AsyncIterable<string>;
}

export type HttpHandler = (request: HttpRequest) => Promise<HttpResponse>;

/** A server of the local cloud, bound to 127.0.0.1. */
export interface Endpoint {
  /** Without a trailing slash. */
  url: string;
  port: number;
  close(): Promise<void>;
}

/** A port that is taken. The message is one line for the user. */
export class PortInUseError extends Error {}

export interface HttpEndpointOptions {
  handle: HttpHandler;
  /** Maximum body size in bytes. Larger requests are answered with 413. */
  maxBodyBytes: number;
  /** 0 or undefined for a free one. */
  port?: number;
  /** Called with the handler's errors. The caller gets status 500 without details. */
  onError?: (error: unknown) => void;
}

/**
 * Starts an HTTP server. The handler receives complete requests only, no aborted or malformed ones.
 * @throws PortInUseError
 */
export async function startHttpEndpoint(options: HttpEndpointOptions): Promise<Endpoint> {
  const server = createServer(httpListener(options));
  const port = await listen(server, options.port ?? 0);
  return { url: `http://127.0.0.1:${port}`, port, close: () => closeServer(server) };
}

/**
 * Keep-alive time in ms. It is longer than that of the clients, so that no client uses a connection while the
 * server closes it.
 */
const keepAliveMs = 120_000;

/** The listener for a server of `node:http` that reads the body, calls the handler and writes its response. */
export function httpListener(
  options: HttpEndpointOptions,
): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => {
    void answer(req, options).then(async (response) => {
      if (response === undefined || res.destroyed) return;
      res.writeHead(response.status, response.headers);
      if (response.body === undefined || typeof response.body === "string" || Buffer.isBuffer(response.body))
        res.end(response.body);
      else await pipeline(Readable.from(response.body), res).catch(() => res.destroy());
    });
  };
}

/** Binds to 127.0.0.1 and returns the port. @throws PortInUseError */
export async function listen(server: Server, port: number): Promise<number> {
  server.keepAliveTimeout = keepAliveMs;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(error.code === "EADDRINUSE" ? new PortInUseError(`port ${port} is already in use`) : error);
    });
    server.listen(port, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Stops listening and ends every connection. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

export function json(status: number, value: unknown, headers: Record<string, string> = {}): HttpResponse {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}

/** Decodes a percent-encoded path segment. Returns malformed text unchanged. */
export function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The response to a request. Undefined when the client has disconnected. */
async function answer(req: IncomingMessage, options: HttpEndpointOptions): Promise<HttpResponse | undefined> {
  const body = await readBody(req, options.maxBodyBytes);
  if (body === "aborted") return undefined;
  if (body === "too large") return json(413, { message: "Request Entity Too Large" });
  const [path = "/", rawQuery = ""] = split(req.url ?? "/", "?");
  const { method = "GET", headers } = req;
  const sourceIp = req.socket.remoteAddress ?? "127.0.0.1";
  try {
    return await options.handle({ method, path, rawQuery, headers, body, sourceIp });
  } catch (error) {
    options.onError?.(error);
    return json(500, { message: "Internal Server Error" });
  }
}

function readBody(req: IncomingMessage, maxBytes: number): Promise<Buffer | "aborted" | "too large"> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      // Read and discard the rest: closing early would reset the connection before the client reads the
      // answer.
      else resolve("too large");
    });
    req.on("end", () => resolve(Buffer.concat(chunks)));
    req.on("error", () => resolve("aborted"));
    req.on("close", () => resolve("aborted"));
  });
}

function split(text: string, separator: string): string[] {
  const index = text.indexOf(separator);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + separator.length)];
}
