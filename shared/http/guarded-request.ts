import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { checkPublic, publicLookup, type Resolve } from "./guarded-fetch.ts";

/** Max bytes of one response, 20 MB. A stream of events ends there, too. */
const maxBytes = 20 * 1024 * 1024;

/** Max time of a request with its response, without a limit of the caller. Milliseconds. */
const timeoutMs = 300_000;

/** Statuses whose responses have no body. */
const bodyless = [204, 205, 304];

/** As the global `fetch`, as far as the MCP client uses it. The body is a string or absent. */
export type GuardedRequest = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Requests of any method to addresses that a server of others may name, with the protection of the guarded fetch: https and public
 * addresses only, checked when the connection is opened. Follows no redirect: the caller gets its response.
 * @param trustedOrigin the origin that the operator has configured; it may be private and use http
 * @throws Error with a reason in words
 */
export function createGuardedRequest(trustedOrigin: string, resolve?: Resolve): GuardedRequest {
  const publicOnly = publicLookup(resolve);
  return async (address, init = {}) => {
    const url = new URL(address);
    const isTrusted = url.origin === trustedOrigin;
    if (!isTrusted) checkPublic(url);
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
    const response = await send(url, init, signal, isTrusted ? undefined : publicOnly);
    return toResponse(url, response);
  };
}

function send(
  url: URL,
  { method = "GET", headers, body }: RequestInit,
  signal: AbortSignal,
  lookup: LookupFunction | undefined,
): Promise<IncomingMessage> {
  const open = url.protocol === "https:" ? requestHttps : requestHttp;
  const sent = { "user-agent": "gsv", "accept-encoding": "identity", ...plainHeaders(headers) };
  const content = body === undefined || body === null ? undefined : Buffer.from(String(body));
  return new Promise((done, fail) => {
    // No agent: a pooled connection would bypass the address check.
    const length = content ? { "content-length": String(content.length) } : {};
    const options = { agent: false, method, signal, headers: { ...sent, ...length }, lookup };
    open(url, options, done).on("error", fail).end(content);
  });
}

function plainHeaders(headers: RequestInit["headers"]): Record<string, string> {
  return Object.fromEntries(new Headers(headers));
}

function toResponse(url: URL, response: IncomingMessage): Response {
  const { statusCode = 502, statusMessage = "", headers } = response;
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") {
    response.destroy();
    throw new Error("answered with compressed data, which was not asked for");
  }
  const received = new Headers();
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) received.set(name, [value].flat().join(", "));
  const init = { status: statusCode, statusText: statusMessage, headers: received };
  if (bodyless.includes(statusCode)) {
    response.resume();
    return new Response(null, init);
  }
  const made = new Response(Readable.toWeb(limited(response)) as ReadableStream<Uint8Array>, init);
  Object.defineProperty(made, "url", { value: url.href });
  return made;
}

/** The body, which fails beyond `maxBytes`. */
function limited(response: IncomingMessage): Readable {
  return Readable.from(
    (async function* () {
      let bytes = 0;
      try {
        for await (const chunk of response) {
          bytes += (chunk as Buffer).length;
          if (bytes > maxBytes) throw new Error(`larger than ${maxBytes / 1024 / 1024} MB`);
          yield chunk as Buffer;
        }
      } finally {
        response.destroy();
      }
    })(),
    { objectMode: false },
  );
}
