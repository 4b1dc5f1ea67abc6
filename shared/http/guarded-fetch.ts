import { type LookupAddress, lookup } from "node:dns";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isPublicAddress } from "./public-address.ts";

/** What a fetch is allowed unless it is told otherwise: 25 MB, 30 seconds. */
const defaults = { maxBytes: 25 * 1024 * 1024, timeoutMs: 30_000 };

const maxRedirects = 5;

/** What is fetched, by GET. */
export interface FetchRequest {
  url: string;
  /** They may hold credentials, and go to the origin of `url` alone. */
  headers?: Readonly<Record<string, string>>;
  /**
   * Origins that the operator has configured, as `new URL(…).origin` writes them. They may have private
   * addresses and speak http, but are reached from `url` itself, or from each other, alone: nothing else can
   * redirect to them.
   */
  trustedOrigins?: readonly string[];
  /** The largest body, in bytes. */
  maxBytes?: number;
  /** For all of it, redirects and body included. */
  timeoutMs?: number;
}

export type Fetched =
  | { ok: true; body: Buffer; contentType?: string }
  /** `passing`: it may succeed later. The reason holds nothing of the address. */
  | { ok: false; reason: string; passing: boolean };

/** Fetches what somebody else has named. Does not throw, whatever the address and the server are. */
export type GuardedFetch = (request: FetchRequest) => Promise<Fetched>;

/** Finds all addresses of a name. */
type Resolve = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Why something is not fetched. */
class Refused extends Error {
  readonly passing: boolean;
  constructor(reason: string, passing = false) {
    super(reason);
    this.passing = passing;
  }
}

/**
 * The one way in which bytes are fetched from addresses that come from outside: https only, from public
 * addresses, so that nobody makes us look into a network that they cannot reach themselves. The address is
 * checked as the connection is made to it, so what a name resolves to cannot change in between; every
 * redirect is checked like a first request.
 */
export function createGuardedFetch({ resolve = lookup }: { resolve?: Resolve } = {}): GuardedFetch {
  const publicOnly = publicLookup(resolve);
  return async (request) => {
    const { maxBytes, timeoutMs } = { ...defaults, ...request };
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const response = await follow(request, publicOnly, signal);
      const body = await readBody(response, maxBytes);
      const contentType = response.headers["content-type"];
      return { ok: true, body, ...(contentType ? { contentType } : {}) };
    } catch (error) {
      if (signal.aborted)
        return { ok: false, reason: `no answer within ${timeoutMs / 1000} s`, passing: true };
      if (error instanceof Refused) return { ok: false, reason: error.message, passing: error.passing };
      return { ok: false, reason: describe(error), passing: true };
    }
  };
}

/** One request of those that redirects lead through. */
export interface Hop {
  url: URL;
  headers: Readonly<Record<string, string>>;
  /** It and all that led to it are origins that the operator has configured. */
  isTrusted: boolean;
}

/** The response at the end of the redirects. @throws Refused */
async function follow(
  { url, headers = {}, trustedOrigins = [] }: FetchRequest,
  publicOnly: LookupFunction,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  let hop = nextHop({ url: parse(url), headers, isTrusted: true }, url, trustedOrigins);
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const response = await get(hop, publicOnly, signal);
    const { statusCode = 0, headers: received } = response;
    if (statusCode === 200) return response;
    response.destroy();
    if (![301, 302, 303, 307, 308].includes(statusCode) || received.location === undefined)
      throw new Refused(`answered with ${statusCode}`, statusCode === 429 || statusCode >= 500);
    hop = nextHop(hop, received.location, trustedOrigins);
  }
  throw new Refused("too many redirects");
}

/**
 * Where a redirect leads.
 * @throws Refused where that may not be fetched, as far as its address alone tells
 */
export function nextHop(from: Hop, location: string, trustedOrigins: readonly string[]): Hop {
  const url = parse(location, from.url);
  const isTrusted = from.isTrusted && trustedOrigins.includes(url.origin);
  if (!isTrusted) checkPublic(url);
  return { url, headers: url.origin === from.url.origin ? from.headers : {}, isTrusted };
}

function parse(text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href)) throw new Refused("not a valid address");
  return new URL(text, base);
}

/** A URL's parser has made one form of all ways to write an IPv4 address; what is no address is looked up. */
function checkPublic({ protocol, hostname, username, password }: URL): void {
  if (protocol !== "https:") throw new Refused("only https is fetched");
  if (username !== "" || password !== "") throw new Refused("an address with credentials");
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !isPublicAddress(host)) throw notPublic();
}

function notPublic(): Refused {
  return new Refused("not a public address");
}

/** Resolves a name for a connection, and fails where any of its addresses is not public. */
function publicLookup(resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error) callback(error, "");
      else if (!first || !addresses.every(({ address }) => isPublicAddress(address)))
        callback(notPublic(), "");
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function get(
  { url, headers, isTrusted }: Hop,
  publicOnly: LookupFunction,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const open = url.protocol === "https:" ? requestHttps : requestHttp;
  const lookup = isTrusted ? undefined : publicOnly;
  return new Promise((done, fail) => {
    // No agent: a connection that somebody else has opened was not checked.
    const options = { agent: false, signal, headers: { "user-agent": "gsv", ...headers }, lookup };
    open(url, options, done).on("error", fail).end();
  });
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new Refused(`larger than ${Math.floor(maxBytes / 1024 / 1024)} MB`);
  const announced = Number(response.headers["content-length"] ?? 0);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    if (announced > maxBytes) throw tooLarge();
    for await (const chunk of response) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge();
      chunks.push(chunk);
    }
  } finally {
    response.destroy();
  }
  if (!response.complete) throw new Refused("the connection ended early", true);
  return Buffer.concat(chunks, bytes);
}

/** An error's message may hold the address, so only its kind is told. */
function describe(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? `no connection (${code})` : "no connection";
}
