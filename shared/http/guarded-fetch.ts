import { type LookupAddress, lookup } from "node:dns";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** Default limits of a fetch: 25 MB, 30 seconds. */
const defaults = { maxBytes: 25 * 1024 * 1024, timeoutMs: 30_000 };

const maxRedirects = 5;

/** Max bytes of a connection: headers, interim answers and the sizes of chunks count, too. */
const maxWire = (maxBytes: number) => 2 * maxBytes + 65_536;

/** A GET request. */
export interface FetchRequest {
  url: string;
  /** May contain credentials; sent only to the origin of `url`. */
  headers?: Readonly<Record<string, string>>;
  /**
   * Origins that the operator has configured, as `new URL(…).origin` writes them. They may use private
   * addresses and http. They are reachable only as `url` itself or by redirects between trusted origins.
   */
  trustedOrigins?: readonly string[];
  /** The largest body, in bytes. */
  maxBytes?: number;
  /** Time limit of the whole fetch, including redirects and the body. */
  timeoutMs?: number;
  /** Ends the fetch early. */
  signal?: AbortSignal;
}

export type Fetched =
  /** `url`: of the body, after redirects. */
  | { ok: true; url: string; body: Buffer; contentType?: string }
  /** `passing`: a retry may succeed. `reason` contains no part of the URL. */
  | { ok: false; reason: string; passing: boolean };

/** Fetches an untrusted URL. Does not throw. */
export type GuardedFetch = (request: FetchRequest) => Promise<Fetched>;

/** Resolves all addresses of a host name. */
export type Resolve = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** The reason why a fetch was refused. */
class Refused extends Error {
  readonly passing: boolean;
  constructor(reason: string, passing = false) {
    super(reason);
    this.passing = passing;
  }
}

/**
 * Fetches URLs that come from outside, with protection against server-side request forgery: only https and
 * public addresses. The address is checked when the connection is opened, so that DNS cannot change it after
 * the check. Every redirect is checked like the first request.
 */
export function createGuardedFetch({ resolve }: { resolve?: Resolve } = {}): GuardedFetch {
  const publicOnly = publicLookup(resolve);
  return async (request) => {
    const { maxBytes, timeoutMs } = { ...defaults, ...request };
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = request.signal ? AbortSignal.any([timeout, request.signal]) : timeout;
    try {
      const { url, response } = await follow({ ...request, maxBytes }, publicOnly, signal);
      const body = await readBody(response, maxBytes, signal);
      const contentType = response.headers["content-type"];
      return { ok: true, url: url.href, body, ...(contentType ? { contentType } : {}) };
    } catch (error) {
      if (request.signal?.aborted) return { ok: false, reason: "it was stopped", passing: true };
      if (timeout.aborted)
        return { ok: false, reason: `no answer within ${timeoutMs / 1000} s`, passing: true };
      if (error instanceof Refused) return { ok: false, reason: error.message, passing: error.passing };
      return { ok: false, reason: fetchFailure(error), passing: true };
    }
  };
}

/** One request in a chain of redirects. */
export interface Hop {
  url: URL;
  headers: Readonly<Record<string, string>>;
  /** This origin and all earlier ones in the chain are trusted origins. */
  isTrusted: boolean;
}

/** The response at the end of the redirects, and its address. @throws Refused */
async function follow(
  { url, headers = {}, trustedOrigins = [], maxBytes }: FetchRequest & { maxBytes: number },
  publicOnly: LookupFunction,
  signal: AbortSignal,
): Promise<{ url: URL; response: IncomingMessage }> {
  let hop = nextHop({ url: parseUrl(url), headers, isTrusted: true }, url, trustedOrigins);
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const response = await get(hop, maxBytes, publicOnly, signal);
    const { statusCode = 0, headers: received } = response;
    if (statusCode === 200) return { url: hop.url, response };
    response.destroy();
    if (![301, 302, 303, 307, 308].includes(statusCode) || received.location === undefined)
      throw new Refused(`answered with ${statusCode}`, statusCode === 429 || statusCode >= 500);
    hop = nextHop(hop, received.location, trustedOrigins);
  }
  throw new Refused("too many redirects");
}

/** The next request of a redirect. @throws Refused when its URL must not be fetched */
export function nextHop(from: Hop, location: string, trustedOrigins: readonly string[]): Hop {
  const url = parseUrl(location, from.url);
  const isTrusted = from.isTrusted && trustedOrigins.includes(url.origin);
  if (!isTrusted) checkPublic(url);
  return { url, headers: url.origin === from.url.origin ? from.headers : {}, isTrusted };
}

function parseUrl(text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href)) throw new Refused("not a valid address");
  return new URL(text, base);
}

/**
 * Checks a URL's literal address. The URL parser has normalized IPv4 notations. Host names are checked later,
 * by `publicLookup`.
 * @throws Refused
 */
export function checkPublic({ protocol, hostname, username, password }: URL): void {
  if (protocol !== "https:") throw new Refused("only https is allowed");
  if (username !== "" || password !== "") throw new Refused("an address with credentials is not allowed");
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !isPublicAddress(host)) throw notPublic();
}

function notPublic(): Refused {
  return new Refused("not a public address");
}

/** Resolves a host name for a connection; fails if any of its addresses is not public. */
export function publicLookup(resolve: Resolve = lookup): LookupFunction {
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
  maxBytes: number,
  publicOnly: LookupFunction,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const open = url.protocol === "https:" ? requestHttps : requestHttp;
  const lookup = isTrusted ? undefined : publicOnly;
  return new Promise((done, fail) => {
    // No agent: a pooled connection would bypass the address check.
    const sent = { "user-agent": "gsv", "accept-encoding": "identity", ...headers };
    const options = { agent: false, signal, headers: sent, lookup };
    let response: IncomingMessage | undefined;
    const request = open(url, options);
    request.on("response", (received) => {
      response = received;
      done(received);
    });
    request.on("error", (error) => {
      if (!response?.complete) response?.destroy(error);
      fail(error);
    });
    request.on("socket", (socket) =>
      socket.on("data", () => {
        if (socket.bytesRead <= maxWire(maxBytes)) return;
        response?.destroy(tooLarge(maxBytes));
        request.destroy(tooLarge(maxBytes));
      }),
    );
    // After an answer 101 there is neither a response nor an error.
    request.on("close", () => fail(endedEarly()));
    request.end();
  });
}

const tooLarge = (maxBytes: number) => new Refused(`larger than ${Math.floor(maxBytes / 1024 / 1024)} MB`);
const endedEarly = () => new Refused("the connection ended early", true);

/** @throws Refused */
async function readBody(response: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const { headers } = response;
  let body = Buffer.alloc(0);
  let bytes = 0;
  try {
    // A few kilobytes of compressed data can expand to gigabytes.
    if (!/^(?:identity)?$/i.test(headers["content-encoding"] ?? ""))
      throw new Refused("answered with compressed data, which was not asked for");
    if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
    for await (const chunk of response) {
      const needed = bytes + chunk.length;
      if (needed > maxBytes) throw tooLarge(maxBytes);
      // A list of chunks of one byte each would need a hundred times the memory.
      if (needed > body.length) body = Buffer.concat([body], Math.min(maxBytes, 2 * needed));
      bytes += chunk.copy(body, bytes);
    }
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "ECONNRESET" ? endedEarly() : error;
  } finally {
    response.destroy();
  }
  // A body without a declared size ends with its connection, also when we end that.
  signal.throwIfAborted();
  if (!response.complete) throw endedEarly();
  return body.subarray(0, bytes);
}

/** Describes an error without its message, which may contain the URL. */
function fetchFailure(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code !== "string") return "no connection";
  if (code.startsWith("HPE_")) return `not a valid answer in HTTP (${code})`;
  return /CERT|SELF_SIGNED|ISSUER|SIGNATURE/.test(code)
    ? `the certificate is not valid (${code})`
    : `no connection (${code})`;
}

/**
 * Addresses that are not publicly reachable, or that are mapped to other addresses: the special-purpose
 * registries of IANA (https://www.iana.org/assignments/iana-ipv4-special-registry,
 * …/iana-ipv6-special-registry) and multicast.
 */
const special4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
];

/** Within 2000::/3: protocol assignments with Teredo, documentation, 6to4. */
const special6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

/** The IPv6 range of public unicast addresses. Mapped, translated and local addresses are outside of it. */
const unicast6 = ["2000::/3"];

const refused4 = blockList("ipv4", special4);
const refused6 = blockList("ipv6", special6);
const allowed6 = blockList("ipv6", unicast6);

/**
 * Whether an IP address is one of the public Internet. False for loopback, private, link-local (with the
 * metadata services of clouds), shared, multicast, unspecified and reserved addresses, for IPv6 forms that
 * contain an IPv4 address, for addresses with a zone, and for text that is not an address.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !refused4.check(address, "ipv4");
    case 6:
      return !address.includes("%") && allowed6.check(address, "ipv6") && !refused6.check(address, "ipv6");
    default:
      return false;
  }
}

function blockList(family: "ipv4" | "ipv6", networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    list.addSubnet(address, Number(prefix), family);
  }
  return list;
}
