import { type IdentityLinks, resolveIdentityLink } from "./identity.ts";
import { keyPart, lowerCase, normalizeToken, peerPart, shorten } from "./key-part.ts";

/**
 * Session keys name a conversation: `agent:{agentId}:…`, all lower case, only `a-z 0-9 + - _ @ .` between
 * colons. A key is used as a table key and as one segment of an object key, so it has at most 200 bytes. A
 * peer's id or a session's name that is too long, or that has other characters, ends in a hash of the whole
 * (`key-part.ts`), so that different ids have different keys.
 */
const maxKeyBytes = 200;

/** Longest agent and account id; longer ones are cut. */
const maxIdLength = 64;

/** Longest channel and peer kind; a longer one is cut and hashed. */
const maxWordLength = 32;

/** Longest main key and name of a session. */
const maxNameLength = 64;

/**
 * How direct messages are mapped to sessions: from one session for everybody to one for each account and
 * peer.
 */
export type DmScope = "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";

/**
 * The kind of a conversation with one guest. Unlike `dm`, it follows neither `dmScope` nor identity links: a
 * guest's key never becomes an owner's, whatever the configuration says.
 */
export const guestKind = "guest";

/** The kind of the session in which a scheduled job runs: `agent:{agentId}:cron:{jobId}`. It has no channel. */
export const cronKind = "cron";

/** The configuration fields that session keys depend on. */
export interface KeyRules {
  mainKey: string;
  dmScope: DmScope;
  /** The agent of keys without an agent id. Default `main`. */
  defaultAgentId?: string;
}

/**
 * The parts of a conversation's key. `kind` `dm` is a direct message of an owner, `guest` one of a guest;
 * every other kind is a shared conversation.
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
 * `identityLinks`: by the name of the peer, else of the sender. Other conversations ignore both. Ids that
 * differ in more than letter case have different keys. A guest's key holds the account when one is given.
 */
export function buildAgentSessionKey(
  parts: KeyParts & {
    senderId?: string;
    mainKey?: string;
    dmScope?: DmScope;
    identityLinks?: IdentityLinks;
  },
): string {
  const { peer, senderId = "", identityLinks = {} } = parts;
  const channel = normalizeChannel(parts.channel);
  if (normalizePeerKind(peer.kind) !== "dm") return assemble(parts, peerPart(peer.id, channel), parts);
  const name =
    resolveIdentityLink(peer.id, channel, identityLinks) ??
    resolveIdentityLink(senderId, channel, identityLinks);
  if (name !== undefined) return assemble(parts, keyPart(name), parts);
  const names = Object.keys(identityLinks).map((taken) => keyPart(taken));
  return assemble(parts, peerPart(peer.id, channel, names), parts);
}

/** @param peerId the peer's id as a part of a key; `unknown` when empty */
function assemble(
  { agentId: agent, channel: messenger, accountId, peer }: KeyParts,
  peerId: string,
  { mainKey, dmScope = "main" }: { mainKey?: string; dmScope?: DmScope },
): string {
  const agentId = normalizeAgentId(agent);
  const channel = normalizeChannel(messenger);
  const kind = normalizePeerKind(peer.kind);
  if (kind === guestKind && accountId !== undefined)
    return joinKey(["agent", agentId, channel, normalizeAccountId(accountId), kind], peerId);
  if (kind === cronKind && messenger === undefined) return cronSessionKey(agentId, peerId);
  if (kind !== "dm") return joinKey(["agent", agentId, channel, kind], peerId);
  switch (dmScope) {
    case "main":
      return mainSessionKey(agentId, mainKey);
    case "per-peer":
      return joinKey(["agent", agentId, "dm"], peerId);
    case "per-channel-peer":
      return joinKey(["agent", agentId, channel, "dm"], peerId);
    case "per-account-channel-peer":
      return joinKey(["agent", agentId, channel, normalizeAccountId(accountId), "dm"], peerId);
  }
}

/** The session in which an agent's heartbeat asks the model: `agent:{agentId}:heartbeat:system:internal`. */
export function heartbeatSessionKey(agentId: string): string {
  return joinKey(["agent", normalizeAgentId(agentId), "heartbeat", "system"], "internal");
}

/** `agent:{agentId}:cron:{jobId}`. */
export function cronSessionKey(agentId: string, jobId: string): string {
  return joinKey(["agent", normalizeAgentId(agentId), cronKind], keyPart(jobId));
}

/** `agent:{agentId}:{mainKey}`. */
export function mainSessionKey(agentId: string, mainKey?: string): string {
  return `agent:${normalizeAgentId(agentId)}:${normalizeMainKey(mainKey)}`;
}

/**
 * Splits a key of four or more parts, without normalizing them. Everything after the `dm` marker, or after
 * the kind of a shared conversation, is the peer's id, colons included. The `dm` marker follows the agent,
 * the channel or the account; the kind `guest` follows the channel or the account. A last part `dm` or
 * `guest` after a channel and a kind is a peer's id.
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
  if ((third === "dm" || third === guestKind) && rest.length > 3)
    return { agentId, channel: first, accountId: second, peer: peer(third, 3) };
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
  const text = lowerCase(key.trim());
  const parsed = parseSessionKey(text);
  if (parsed) return assemble(parsed, keyPart(parsed.peer.id, normalizeChannel(parsed.channel)), rules);
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
  if (parsed) return clientKinds.includes(parsed.peer.kind) ? "other" : parsed.peer.kind;
  return canonical === mainSessionKey(agentIdOf(canonical), rules.mainKey) ? "main" : "named";
}

/** Kinds of sessions that the owner's clients alone have. */
export const clientKinds: readonly string[] = ["main", "named"];

/** Whether a key names its agent's main session, the only session that sees private memory. */
export function isMainSessionKey(key: string, rules: KeyRules): boolean {
  return sessionKind(key, rules) === "main";
}

/** Whether a canonical key names the conversation with one guest. */
export function isGuestSessionKey(canonicalKey: string): boolean {
  return parseSessionKey(canonicalKey)?.peer.kind === guestKind;
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

/** Lower case, `_` for invalid characters, at most 64; `main` when empty. */
export function normalizeMainKey(mainKey: string | undefined): string {
  return shorten(normalizeToken(mainKey) || "main", maxNameLength);
}

function namedSessionKey(agentId: string, name: string, mainKey: string): string {
  const isMain = ["main", normalizeMainKey(mainKey)].includes(normalizeMainKey(name));
  if (isMain) return mainSessionKey(agentId, mainKey);
  return `agent:${normalizeAgentId(agentId)}:${shorten(keyPart(name), maxNameLength)}`;
}

function joinKey(prefix: string[], peerId: string): string {
  const start = `${prefix.join(":")}:`;
  return start + shorten(peerId || "unknown", maxKeyBytes - start.length);
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
