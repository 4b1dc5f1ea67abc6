import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { closeServer, listen } from "../../../../local/http/http-endpoint.ts";
import type { Store } from "../../../../local/objects/object-files.ts";
import { S3Error, toS3Error } from "../../../../local/objects/s3-error.ts";
import { foreignHost, isAddressedLocally } from "../access.ts";
import { noSuchBucket } from "./object-operations.ts";
import type { Answer, Call } from "./s3-call.ts";
import { findOperation } from "./s3-operations.ts";
import { readRequest } from "./s3-request.ts";
import { errorDocument } from "./xml.ts";

/** Authorizes an operation. Returns the reason of a refusal, or undefined to allow it. */
export type AuthorizeS3 = (call: {
  /** From the signature; undefined when the request carries none. */
  accessKeyId: string | undefined;
  /** IAM action: `s3:GetObject`. */
  action: string;
  /** `arn:aws:s3:::{bucket}` or `arn:aws:s3:::{bucket}/{key}`. */
  resource: string;
  /** IAM condition keys of the request: `s3:prefix`, `s3:delimiter` and `s3:max-keys` of a listing. */
  context: Record<string, string>;
}) => string | undefined | Promise<string | undefined>;

export type S3Options = {
  /** The objects. There is no operation to create a bucket. */
  store: Store;
  /** 0 or undefined for a free one. */
  port?: number;
  /** Origins of the bucket's CORS rule, which allows GET and PUT and the header `content-type`. */
  corsOrigins?: readonly string[];
  /** Without it every signed request is allowed, and every other refused: the buckets are private. */
  authorize?: AuthorizeS3;
};

/** A running server, bound to 127.0.0.1. `close` ends open connections and resolves when no request is at work. */
export type S3Server = { url: string; port: number; close(): Promise<void> };

/** Above the time for which the SDK keeps an idle connection, so that it never writes to one that is just being closed. */
const keepAliveMilliseconds = 120_000;

const onlySigned: AuthorizeS3 = ({ accessKeyId }) =>
  accessKeyId === undefined ? "it is not signed" : undefined;

/**
 * Serves a subset of S3, path style: PutObject, GetObject, HeadObject, DeleteObject, ListObjectsV2 and multipart uploads,
 * after the S3 API reference. Everything else is answered with NotImplemented.
 * @throws PortInUseError
 */
export async function startS3({
  store,
  port = 0,
  authorize = onlySigned,
  corsOrigins = [],
}: S3Options): Promise<S3Server> {
  const working = new Set<Promise<void>>();
  const server = createServer((message, response) => {
    if (answersBrowser(corsOrigins, message, response)) return;
    const work = serve(store, authorize, message, response).finally(() => working.delete(work));
    working.add(work);
  });
  server.keepAliveTimeout = keepAliveMilliseconds;
  const bound = await listen(server, port);
  return {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    async close() {
      await closeServer(server);
      await Promise.all(working);
    },
  };
}

/**
 * Adds the headers of the CORS rule to the answer for a page, and answers the question of its browser (`OPTIONS`), as S3 does:
 * other pages are served, but their browsers do not let them read the answer.
 * @returns whether the request is answered
 */
function answersBrowser(
  corsOrigins: readonly string[],
  { method, headers: { origin = "" } }: IncomingMessage,
  response: ServerResponse,
): boolean {
  const isAllowed = corsOrigins.includes(origin);
  if (isAllowed) {
    response.setHeader("access-control-allow-origin", origin);
    response.setHeader("access-control-allow-methods", "GET, PUT");
    response.setHeader("access-control-allow-headers", "content-type");
  }
  if (method !== "OPTIONS") return false;
  response.writeHead(isAllowed ? 200 : 403).end();
  return true;
}

/** Answers one request. Never rejects: an answer to a client that has disconnected is dropped. */
async function serve(
  store: Store,
  authorize: AuthorizeS3,
  message: IncomingMessage,
  response: ServerResponse,
) {
  const requestId = randomBytes(8).toString("hex").toUpperCase();
  response.setHeader("x-amz-request-id", requestId);
  // Reads and writes report a broken connection. Without this listener, the error event would end the
  // process.
  message.on("error", () => undefined);
  response.on("error", () => undefined);
  try {
    await send(response, await perform(store, authorize, message));
  } catch (error) {
    if (response.headersSent) response.destroy();
    else sendError(response, toS3Error(error), { resource: message.url ?? "/", requestId });
  }
  // Read and discard the rest of a refused body: closing early would keep the client from reading the error.
  message.resume();
}

async function perform(store: Store, authorize: AuthorizeS3, message: IncomingMessage): Promise<Answer> {
  if (!isAddressedLocally(message.headers)) throw new S3Error("AccessDenied", foreignHost);
  const request = readRequest(message);
  const operation = findOperation(request);
  if (!store.buckets.has(request.bucket)) throw noSuchBucket();
  const call: Call = {
    request,
    store,
    async authorize(action, resource, context = {}) {
      const { accessKeyId } = request;
      const reason = await authorize({ accessKeyId, action, resource, context });
      if (reason === undefined) return;
      const user = accessKeyId ?? "anonymous";
      throw new S3Error("AccessDenied", `${user} may not perform ${action} on ${resource}: ${reason}`);
    },
  };
  return operation(call);
}

async function send(
  response: ServerResponse,
  { status = 200, headers = {}, body = "" }: Answer,
): Promise<void> {
  const streamed = body instanceof Readable;
  try {
    // For HEAD, the headers already contain the length.
    const length =
      streamed || status === 204 || status === 304 ? {} : { "content-length": Buffer.byteLength(body) };
    response.writeHead(status, { ...length, ...headers });
  } catch (error) {
    if (streamed) body.destroy();
    throw error;
  }
  if (streamed) await pipeline(body, response);
  else response.end(body);
}

function sendError(
  response: ServerResponse,
  error: S3Error,
  about: { resource: string; requestId: string },
): void {
  const document = errorDocument(error, about.resource, about.requestId);
  // A HEAD response has no body; clients use its status.
  const body = response.req.method === "HEAD" ? "" : document;
  response.writeHead(error.status, {
    "content-type": "application/xml",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}
