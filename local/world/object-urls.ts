import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Presigner } from "../../shared/world/world.ts";
import { bucketName } from "../cloud-names.ts";
import { browserFault } from "../http/browser-guard.ts";
import { closeServer, listen } from "../http/http-endpoint.ts";
import { commitObject, openObject, type Store } from "../objects/object-files.ts";
import { stage } from "../objects/staging.ts";

/** The permission of a URL: one method on one object, with an expiry time. */
interface Permit {
  method: "GET" | "PUT";
  key: string;
  /** Epoch milliseconds. */
  expiresAt: number;
  /** PUT: the exact size of the body. */
  bytes?: number;
}

export interface ObjectUrls {
  presigner: Presigner;
  close(): Promise<void>;
}

/**
 * URLs of single objects, served on 127.0.0.1. The secret in the path takes the place of a signature. The server starts
 * with the first URL, because most processes never need one; URLs end with the process.
 * @param pageOrigins the pages that may use the URLs in a browser
 */
export function openObjectUrls(
  store: Store,
  onError: (error: unknown) => void,
  pageOrigins: readonly string[] = [],
): ObjectUrls {
  const permits = new Map<string, Permit>();
  let started: Promise<{ server: Server; port: number }> | undefined;
  const start = async () => {
    const server = createServer((request, response) => {
      answer(store, permits, pageOrigins, request, response).catch((error: unknown) => {
        onError(error);
        if (response.headersSent) response.destroy();
        else response.writeHead(500).end();
      });
    });
    return { server, port: await listen(server, 0) };
  };
  const permit = async (granted: Permit): Promise<string> => {
    started ??= start();
    const { port } = await started;
    dropExpired(permits);
    const secret = randomBytes(24).toString("base64url");
    permits.set(secret, granted);
    return `http://127.0.0.1:${port}/${secret}`;
  };
  const until = (seconds: number) => Date.now() + seconds * 1000;
  return {
    presigner: {
      get: (key, seconds) => permit({ method: "GET", key, expiresAt: until(seconds) }),
      put: (key, seconds, bytes) => permit({ method: "PUT", key, expiresAt: until(seconds), bytes }),
    },
    async close() {
      if (started) await closeServer((await started).server);
    },
  };
}

/** What the bucket's CORS rule (`infra/constructs/storage.ts`) makes S3 answer to a page. */
const corsHeaders = [
  ["access-control-allow-methods", "GET, PUT"],
  ["access-control-allow-headers", "content-type"],
  ["vary", "origin"],
] as const;

/** Removes expired permits. They are stored in creation order, which is nearly the order of expiry. */
function dropExpired(permits: Map<string, Permit>): void {
  const now = Date.now();
  for (const [secret, { expiresAt }] of permits) {
    if (expiresAt > now) return;
    permits.delete(secret);
  }
}

/** Answers a request of a program, or one that a page may send: the browser asks before an upload (`OPTIONS`). */
async function answer(
  store: Store,
  permits: ReadonlyMap<string, Permit>,
  pageOrigins: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { origin } = request.headers;
  const fault = browserFault(request.headers, { pages: pageOrigins });
  if (fault !== undefined) return refuse(request, response, 403, fault);
  if (origin !== undefined) {
    for (const [name, value] of corsHeaders) response.setHeader(name, value);
    response.setHeader("access-control-allow-origin", origin);
    if (request.method === "OPTIONS") {
      response.writeHead(204).end();
      return;
    }
  }
  await serve(store, permits, request, response);
}

async function serve(
  store: Store,
  permits: ReadonlyMap<string, Permit>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const permit = permits.get((request.url ?? "").slice(1).split("?")[0] ?? "");
  if (!permit || permit.method !== request.method || permit.expiresAt <= Date.now()) {
    return refuse(request, response, 403, "The URL is unknown, has expired, or is for another method.");
  }
  if (permit.method === "GET") await download(store, permit.key, response);
  else await upload(store, permit, request, response);
}

async function download(store: Store, key: string, response: ServerResponse): Promise<void> {
  const found = await openObject(store, bucketName, key);
  if (!found) {
    response.writeHead(404).end();
    return;
  }
  const { size, etag, headers } = found.record;
  response.writeHead(200, { "content-type": headers["content-type"], "content-length": size, etag });
  await pipeline(found.body.createReadStream(), response);
}

async function upload(
  store: Store,
  { key, bytes }: Permit,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (Number(request.headers["content-length"]) !== bytes) {
    return refuse(request, response, 403, `The body must have ${bytes} bytes, as the URL was made for.`);
  }
  const staged = await stage(store, request, ["md5"]);
  const etag = `"${staged.digests.get("md5")?.toString("hex")}"`;
  const contentType = request.headers["content-type"] ?? "binary/octet-stream";
  const object = { etag, metadata: {}, headers: { "content-type": contentType } };
  await commitObject(store, { bucket: bucketName, key, condition: {} }, staged, object);
  response.writeHead(200, { etag }).end();
}

function refuse(request: IncomingMessage, response: ServerResponse, status: number, reason: string): void {
  // Read and discard the rest of the body: closing early would keep the client from reading the error.
  request.resume();
  response.writeHead(status, { "content-type": "text/plain" }).end(`${reason}\n`);
}
