import { createHash } from "node:crypto";
import { type IdentityLinks, resolveIdentityLink } from "./identity.ts";

/**
 * Session keys name a conversation: `agent:{agentId}:…`, all lower case, only `a-z 0-9 + - _ @ .` between colons.
 * They are table keys and one segment of storage keys, so a whole key is at most 200 bytes: ids that are too long
 * are cut and end in a hash of the whole id.
 */
const maxKeyBytes = 200;

/** Longest agent and account id; longer ones are cut. */
const maxIdLength = 64;

/** Longest channel and peer kind; a longer one is cut and hashed. */
const maxWordLength = 32;

/** Longest main key and name of a session. */
const maxNameLength = 64;

/** Hexadecimal digits of the hash that stands for the rest of an id: 96 bits, so that none is found to match. */
const hashLength = 24;

/** How direct messages are mapped to sessions, from one session for all to the most separate. */
export type DmScope = "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";

/** What decides how a key is written; fields of the configuration. */
export interface KeyRules {
  mainKey: string;
  dmScope: DmScope;
  /** The agent of keys that name none. Default `main`. */
  defaultAgentId?: string;
}

/** Where a conversation takes place. `kind` `dm` is a direct message; every other kind is shared with others. */
export interface KeyParts {
  agentId: string;
  channel?: string;
  accountId?: string;
  peer: { kind: string; id: string };
}

/**
 * The session key of a conversation. Parts are normalized; what is missing becomes its default. A direct message
 * follows `dmScope`, and its peer is replaced by the name that `identityLinks` give it; shared conversations do neither.
 */
export function buildAgentSessionKey(
  parts: KeyParts & { mainKey?: string; dmScope?: DmScope; identityLinks?: IdentityLinks },
): string {
  const agentId = normalizeAgentId(parts.agentId);
  const channel = normalizeChannel(parts.channel);
  const kind = normalizePeerKind(parts.peer.kind);
  if (kind !== "dm") return joinKey(["agent", agentId, channel, kind], parts.peer.id);
  const peerId = resolveIdentityLink(parts.peer.id, channel, parts.identityLinks) ?? parts.peer.id;
  switch (parts.dmScope ?? "main") {
    case "main":
      return mainSessionKey(agentId, parts.mainKey);
    case "per-peer":
      return joinKey(["agent", agentId, "dm"], peerId);
    case "per-channel-peer":
      return joinKey(["agent", agentId, channel, "dm"], peerId);
    case "per-account-channel-peer":
      return joinKey(["agent", agentId, channel, normalizeAccountId(parts.accountId), "dm"], peerId);
  }
}

/** `agent:{agentId}:{mainKey}`. */
export function mainSessionKey(agentId: string, mainKey?: string): string {
  return `agent:${normalizeAgentId(agentId)}:${normalizeMainKey(mainKey)}`;
}

/**
 * Takes a key of four parts or more apart, as it stands: nothing is normalized. What follows the `dm` marker, or the
 * kind of a shared conversation, is the peer's id, colons included. The marker stands after the agent, the channel or
 * the account; a last part `dm` after a channel and a kind is a peer's id.
 * @returns null for keys that do not start with `agent:` and for those of fewer parts (main and named sessions)
 */
export function parseSessionKey(key: string): KeyParts | null {
  const [prefix, agentId, ...rest] = key.split(":");
  const [first, second, third] = rest;
  if (prefix !== "agent" || agentId === undefined || first === undefined || second === undefined) return null;
  const peer = (kind: string, from: number) => ({ kind, id: rest.slice(from).join(":") });
  if (first === "dm") return { agentId, peer: peer("dm", 1) };
  if (second === "dm") return { agentId, channel: first, peer: peer("dm", 2) };
  if (third === "dm" && rest.length > 3)
    return { agentId, channel: first, accountId: second, peer: peer("dm", 3) };
  if (third === undefined) return { agentId, peer: peer(first, 1) };
  return { agentId, channel: first, peer: peer(second, 2) };
}

/**
 * The one key under which a session is stored, for whatever a peer calls it. Takes any text, and its own results as
 * they are. Structured keys are parsed and rebuilt by the rules that hold now. `main` and the main key, alone or after
 * an agent, are the agent's main session; any other single name is a session of that name,
 * `agent:{defaultAgentId}:{name}`, which is not a main session. Identity links are not applied: they belong to routing,
 * and the name that they give may itself be linked.
 */
export function canonicalizeSessionKey(key: string, rules: KeyRules): string {
  const text = key.trim().toLowerCase();
  const parsed = parseSessionKey(text);
  if (parsed) return buildAgentSessionKey({ ...parsed, mainKey: rules.mainKey, dmScope: rules.dmScope });
  const [prefix, agentId, name] = text.split(":");
  const isAgentKey = prefix === "agent" && agentId !== undefined;
  if (isAgentKey) return namedSessionKey(agentId, name ?? "", rules.mainKey);
  return namedSessionKey(rules.defaultAgentId ?? "", text, rules.mainKey);
}

/** What a session is: `main`, `named` (a name of the user's choice), or its peer's kind: `dm`, `group`, `thread`, … */
export function sessionKind(key: string, rules: KeyRules): string {
  const canonical = canonicalizeSessionKey(key, rules);
  const parsed = parseSessionKey(canonical);
  // A peer's kind is outside text: it must not pass for one of the two that are decided here.
  if (parsed) return ["main", "named"].includes(parsed.peer.kind) ? "other" : parsed.peer.kind;
  return canonical === mainSessionKey(agentIdOf(canonical), rules.mainKey) ? "main" : "named";
}

/** Whether a key, once canonical, is its agent's main session: the only kind that sees private memory. */
export function isMainSessionKey(key: string, rules: KeyRules): boolean {
  return sessionKind(key, rules) === "main";
}

/** The agent of a canonical session key. */
export function agentIdOf(canonicalKey: string): string {
  return normalizeAgentId(canonicalKey.split(":")[1]);
}

/** `[a-z0-9][a-z0-9_-]*`, at most 64 characters; `main` for what cannot be made one. */
export function normalizeAgentId(id: string | undefined): string {
  return normalizeId(id) ?? "main";
}

/** As an agent's id; `default` for what cannot be made one. A colliding `dm` becomes `dm_`. */
export function normalizeAccountId(id: string | undefined): string {
  return withoutMarker(normalizeId(id) ?? "default");
}

/** Lower case, `_` for invalid characters; `unknown` when empty. A colliding `dm` becomes `dm_`. */
export function normalizeChannel(channel: string | undefined): string {
  return withoutMarker(shorten(normalizeToken(channel) || "unknown", maxWordLength));
}

/** Lower case, `_` for invalid characters; `dm` when empty. */
export function normalizePeerKind(kind: string | undefined): string {
  return shorten(normalizeToken(kind) || "dm", maxWordLength);
}

/** Lower case, `_` for invalid characters; `unknown` when empty. Not yet cut to what the rest of a key leaves. */
export function normalizePeerId(id: string | undefined): string {
  return normalizeToken(id) || "unknown";
}

/** Lower case, `_` for invalid characters, at most 64; `main` when empty. */
export function normalizeMainKey(mainKey: string | undefined): string {
  return shorten(normalizeToken(mainKey) || "main", maxNameLength);
}

function namedSessionKey(agentId: string, name: string, mainKey: string): string {
  const normalized = normalizeMainKey(name);
  if (normalized === "main") return mainSessionKey(agentId, mainKey);
  return `agent:${normalizeAgentId(agentId)}:${normalized}`;
}

function joinKey(prefix: string[], peerId: string): string {
  const start = `${prefix.join(":")}:`;
  return start + shorten(normalizePeerId(peerId), maxKeyBytes - start.length);
}

function normalizeToken(text: string | undefined): string {
  return (text ?? "")
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9+\-_@.]/gu, "_");
}

function normalizeId(text: string | undefined): string | undefined {
  const id = (text ?? "")
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9_-]/gu, "-")
    .replace(/^-+/, "")
    .slice(0, maxIdLength)
    .replace(/-+$/, "");
  return /^[a-z0-9]/.test(id) ? id : undefined;
}

/** A channel or account of this name would be read as the marker of direct messages. */
function withoutMarker(name: string): string {
  return name === "dm" ? "dm_" : name;
}

/** Normalized text is ASCII, so its length is its bytes. Different texts stay different when they are cut. */
function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, hashLength);
  return `${text.slice(0, most - hashLength - 1)}-${hash}`;
}
