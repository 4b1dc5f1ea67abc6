import type { IncomingHttpHeaders } from "node:http";

/** Names of this machine. The servers listen on 127.0.0.1 only. */
const loopbackHosts: readonly string[] = ["127.0.0.1", "localhost", "[::1]"];

/** Whether a host, as in `URL.hostname`, is this machine. */
export function isLoopback(host: string): boolean {
  return loopbackHosts.includes(host);
}

/** What an endpoint of this machine accepts. */
export interface Accepted {
  /** Names of hosts, without a port, under which a tunnel or proxy forwards requests. */
  hosts?: readonly string[];
  /** Whether pages in a browser may send requests, or the origins of those that may. Default: no. */
  pages?: boolean | readonly string[];
}

/**
 * Why a request must not be answered: a web page in a browser of this machine sent it. A page that resolves its own name to
 * 127.0.0.1 is recognized by the Host header, any other page by the Origin header, which only browsers send.
 * @returns undefined for an acceptable request
 */
export function browserFault(
  { host = "", origin }: IncomingHttpHeaders,
  { hosts = [], pages = false }: Accepted = {},
): string | undefined {
  const name = host.toLowerCase().replace(/:\d+$/, "");
  if (![...loopbackHosts, ...hosts].includes(name))
    return `Host: this endpoint is not reached as ${JSON.stringify(name)}; for a tunnel or proxy of that name, start with --allow-host`;
  const mayCall = typeof pages === "boolean" ? pages : pages.includes(origin ?? "");
  if (origin !== undefined && !mayCall) return "Origin: web pages may not use this endpoint";
  return undefined;
}
