import type { Random } from "../random.ts";
import type { SignedRequest } from "./platform-server.ts";

/** Changes one part of a request. Returns undefined if nothing changed. */
type Mutation = (request: SignedRequest, random: Random) => SignedRequest | undefined;

export type MutationName = "body" | "header" | "timestamp" | "path" | "account" | "method" | "query";

const pieces = ["0", "1", "9", "a", "f", "A", "Z", "-", "_", "=", "{", "}", '"', " ", "/", "é", "\u0000"];

/** A text with one to three edits: a piece inserted, removed, replaced, doubled, or cut off. */
function edited(text: string, random: Random, allowed = pieces): string {
  let result = text;
  for (let edits = random.integer(3); edits >= 0; edits--) {
    const at = random.integer(result.length + 1);
    const [head, tail] = [result.slice(0, at), result.slice(at)];
    result = random.pick([
      () => head + random.pick(allowed) + tail,
      () => head + tail.slice(1),
      () => head + random.pick(allowed) + tail.slice(1),
      () => head + tail.slice(0, 4) + tail,
      () => head,
      () => result.toUpperCase(),
    ])();
  }
  return result;
}

/** Spaces around a header's value are not part of it, and a header cannot contain every character. */
const headerPieces = pieces.filter((piece) => /^[!-~]$/.test(piece));

function withHeader(request: SignedRequest, names: string[], random: Random): SignedRequest | undefined {
  const name = random.pick(names.filter((one) => one in request.headers));
  const { [name]: value = "", ...others } = request.headers;
  if (random.integer(10) === 0) return { ...request, headers: others };
  const changed = random.integer(10) === 0 ? "" : edited(value, random, headerPieces);
  return changed.trim() === value ? undefined : { ...request, headers: { ...others, [name]: changed } };
}

const timestamps = ["x-slack-request-timestamp", "x-signature-timestamp"];

/** The headers with a signature or a secret: all except the content type and the time. */
function signaturesOf({ headers }: SignedRequest): string[] {
  return Object.keys(headers).filter((name) => name !== "content-type" && !timestamps.includes(name));
}

const addressPieces = ["a", "z", "0", "9", "_", "-", "/", "%2e", "%00", "A", ".."];

/** The normalized address: with a trailing slash and no account. */
function addressOf(path: string): string {
  const { pathname } = new URL(path, "http://localhost");
  return pathname.replace(/\/$/, "").replace(/\/default$/, "");
}

const mutations: Record<MutationName, Mutation> = {
  body(request, random) {
    const body = edited(request.body ?? "", random);
    return body === request.body ? undefined : { ...request, body };
  },
  header: (request, random) => withHeader(request, signaturesOf(request), random),
  timestamp(request, random) {
    const name = timestamps.find((one) => one in request.headers);
    if (name === undefined) return undefined;
    if (random.integer(2) === 0) return withHeader(request, [name], random);
    const moved =
      Number(request.headers[name]) + (random.integer(2) === 0 ? 1 : -1) * (1 + random.integer(600));
    return { ...request, headers: { ...request.headers, [name]: String(moved) } };
  },
  path(request, random) {
    const [path = "", query] = request.path.split("?");
    const changed = `/${edited(path.slice(1), random, addressPieces)}`;
    if (addressOf(changed) === addressOf(path)) return undefined;
    return { ...request, path: query === undefined ? changed : `${changed}?${query}` };
  },
  account(request, random) {
    const account = random.pick(["second", "off", "nobody", "constructor", "__proto__", "Default"]);
    return { ...request, path: request.path.replace("/default", `/${account}`) };
  },
  method: (request, random) => ({ ...request, method: random.pick(["PUT", "PATCH", "DELETE"]) }),
  query(request, random) {
    const [path, query = ""] = request.path.split("?");
    const given = new URLSearchParams(query);
    const name = random.pick(["hub.mode", "hub.verify_token"]);
    const changed = edited(given.get(name) ?? "", random);
    if (changed === given.get(name)) return undefined;
    given.set(name, changed);
    return { ...request, path: `${path}?${given}` };
  },
};

/** A request that differs from a valid one in one part. */
export function mutated(
  request: SignedRequest,
  parts: readonly MutationName[],
  random: Random,
): SignedRequest {
  for (;;) {
    const changed = mutations[random.pick(parts)](request, random);
    if (changed) return changed;
  }
}
