import { createHash } from "node:crypto";
import { type IdentityLinks, resolveIdentityLink } from "./identity.ts";

/**
 * Session keys name a conversation: `agent:{agentId}:…`, all lower case, only `a-z 0-9 + - _ @ .` between
 * colons. A key is used as a table key and as one segment of an object key, so it has at most 200 bytes. An
 * id that is too long is cut and ends in a hash of the whole id.
 */
const maxKeyBytes = 200;

/** Longest agent and account id; longer ones are cut. */
const maxIdLength = 64;

/** Longest channel and peer kind; a longer one is cut and hashed. */
const maxWordLength = 32;

/** Longest main key and name of a session. */
const maxNameLength = 64;

/**
 * Hexadecimal digits of the hash that ends a cut id: 96 bits, so that nobody can construct a colliding id.
 */
const hashLength = 24;

/**
 * How direct messages are mapped to sessions: from one session for everybody to one for each account and
 * peer.
 */
export type DmScope = "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";

/** The configuration fields that session keys depend on. */
export interface KeyRules {
  mainKey: string;
  dmScope: DmScope;
  /** The agent of keys without an agent id. Default `main`. */
  defaultAgentId?: string;
}

/**
 * The parts of a conversation's key. `kind` `dm` is a direct message; every other kind is a shared
 * conversation.
 */
export interface KeyParts {
  agentId: string;
  channel?: string;
  accountId?: string;
  peer: { kind: string; id: string };
}

/**
 * The session key of a conversation. Parts are normalized; a missing part becomes its default. For a direct
 * message the key depends on `dmScope`, and the peer's id is replaced by its canonical name in
 * `identityLinks`. Shared conversations ignore both.
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
 * Splits a key of four or more parts, without normalizing them. Everything after the `dm` marker, or after
 * the kind of a shared conversation, is the peer's id, colons included. The `dm` marker follows the agent,
 * the channel or the account. A last part `dm` after a channel and a kind is a peer's id.
 * @returns null for keys that do not start with `agent:` and for keys of fewer parts (main and named
 * sessions)
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
 * The canonical key, under which a session is stored. Accepts any text; a canonical key is returned
 * unchanged. Structured keys are parsed and rebuilt by the current rules. `main` and the main key, alone or
 * after an agent, are the agent's main session. Any other single name is a named session,
 * `agent:{defaultAgentId}:{name}`. Identity links are not applied here but in routing: a canonical name may
 * itself be an entry of another link.
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

/**
 * The kind of a session: `main`, `named` (a name chosen by the user), or its peer's kind: `dm`, `group`,
 * `thread`, …
 */
export function sessionKind(key: string, rules: KeyRules): string {
  const canonical = canonicalizeSessionKey(key, rules);
  const parsed = parseSessionKey(canonical);
  // A peer's kind comes from outside: it must not be taken for `main` or `named`.
  if (parsed) return ["main", "named"].includes(parsed.peer.kind) ? "other" : parsed.peer.kind;
  return canonical === mainSessionKey(agentIdOf(canonical), rules.mainKey) ? "main" : "named";
}

/** Whether a key names its agent's main session, the only session that sees private memory. */
export function isMainSessionKey(key: string, rules: KeyRules): boolean {
  return sessionKind(key, rules) === "main";
}

/** The agent of a canonical session key. */
export function agentIdOf(canonicalKey: string): string {
  return normalizeAgentId(canonicalKey.split(":")[1]);
}

/** `[a-z0-9][a-z0-9_-]*`, at most 64 characters; `main` when no valid character is left. */
export function normalizeAgentId(id: string | undefined): string {
  return normalizeId(id) ?? "main";
}

/**
 * Like `normalizeAgentId`, but `default` when no valid character is left. `dm`, the marker, becomes `dm_`.
 */
export function normalizeAccountId(id: string | undefined): string {
  return withoutMarker(normalizeId(id) ?? "default");
}

/** Lower case, `_` for invalid characters; `unknown` when empty. `dm`, the marker, becomes `dm_`. */
export function normalizeChannel(channel: string | undefined): string {
  return withoutMarker(shorten(normalizeToken(channel) || "unknown", maxWordLength));
}

/** Lower case, `_` for invalid characters; `dm` when empty. */
export function normalizePeerKind(kind: string | undefined): string {
  return shorten(normalizeToken(kind) || "dm", maxWordLength);
}

/** Lower case, `_` for invalid characters; `unknown` when empty. Not shortened: `joinKey` does that. */
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

/** Renames a channel or account called `dm`, which would be parsed as the marker of direct messages. */
function withoutMarker(name: string): string {
  return name === "dm" ? "dm_" : name;
}

/**
 * Cuts a text and appends a hash, so that different texts stay different. Normalized text is ASCII: length is
 * bytes.
 */
function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, hashLength);
  return `${text.slice(0, most - hashLength - 1)}-${hash}`;
}
