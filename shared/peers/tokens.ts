import { createHash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { code, PeerError } from "../protocol/errors.ts";
import { type Scope, scopes } from "../protocol/methods.ts";
import type { TokenEntry } from "../protocol/token-results.ts";
import { absent, all, exists, set } from "../world/expression.ts";
import { ConditionFailed, type Item, type Key, succeeds, type Table } from "../world/world.ts";
import { hidePeersOf } from "./registry.ts";

const partition = "TOKEN";

/** Tokens of programs that a person let in (`program-grants.ts`): another function makes them, and their scopes are bounded. */
const programPartition = "GRANT";
const programMark = "m-";
const programScopes: readonly Scope[] = ["mcp", "mcp:nodes"];

/** The record of a token. */
const keyOf = (id: string): Key => ({
  pk: id.startsWith(programMark) ? programPartition : partition,
  sk: id,
});

/** 32 letters and digits that do not look alike: five bits of a random byte choose one. */
const idAlphabet = "abcdefghijkmnpqrstuvwxyz23456789";
const idLength = 10;
const secretBytes = 32;

/** `gsv_{id}_{secret}`: the id is the record's key, the secret (43 characters of base64url) authenticates. */
const tokenPattern = /^gsv_((?:m-)?[a-km-np-z2-9]{10})_([A-Za-z0-9_-]{43})$/;

/** `lastUsedAt` is written at most this often, in milliseconds. Lists show it to the minute. */
const lastUsedStepMs = 60_000;

/** A token with the scope admin is valid for this long, in milliseconds. Those of earlier versions do not expire. */
export const adminTokenMs = 15 * 60_000;

/** A device's token is valid for this long after its last use, in milliseconds. */
export const deviceTokenMs = 90 * 86_400_000;

/** TTL of a revoked token's record, in seconds. A token without a record is refused as a revoked one is. */
const revokedSeconds = 30 * 86_400;

/** The identity and rights of a verified token. */
export type TokenHolder = Omit<TokenEntry, "createdAt" | "lastUsedAt" | "device">;

/** The name, scopes and binding of a new token. */
export type TokenPurpose = Pick<TokenEntry, "name" | "channel" | "accountId"> & { scopes: readonly Scope[] };

/** A token's entry and the token itself, which is not stored. */
type NewToken = TokenEntry & { token: string };

/**
 * Creates a token; only its secret's SHA-256 is stored. A token with the scope admin expires after `adminTokenMs`.
 * @param now epoch milliseconds
 * @throws PeerError 409 when another token has this name, upper and lower case alike
 */
export async function createToken(
  table: Table,
  { name, scopes, channel, accountId = "default" }: TokenPurpose,
  now: number,
): Promise<NewToken> {
  const id = randomLetters(idLength);
  await refuseTaken(table, name, id, now);
  const bound = channel === undefined ? {} : { channel, accountId };
  const end = scopes.includes("admin") ? { until: now + adminTokenMs } : {};
  const created = await storeToken(table, {
    id,
    name,
    scopes: [...scopes],
    createdAt: now,
    ...end,
    ...bound,
  });
  // When two tokens with one name are created at the same time, the one written last sees the other here.
  await refuseTaken(table, name, id, now).catch(async (error: unknown) => {
    await table.delete({ pk: partition, sk: id });
    throw error;
  });
  return created;
}

/**
 * Creates the token of a device, such as a browser, which expires `deviceTokenMs` after its last use. Its id follows a name
 * that another token has.
 * @param now epoch milliseconds
 */
export async function createDeviceToken(
  table: Table,
  { name, scopes }: { name: string; scopes: readonly Scope[] },
  now: number,
): Promise<NewToken & { until: number }> {
  const id = randomLetters(idLength);
  const unique = (await findNamed(table, name, now)) === undefined ? name : `${name} (${id})`;
  const times = { createdAt: now, lastUsedAt: now, until: now + deviceTokenMs };
  return storeToken(table, { id, name: unique, scopes: [...scopes], ...times, device: true });
}

async function storeToken<E extends TokenEntry>(table: Table, entry: E): Promise<E & { token: string }> {
  const { id, ...record } = entry;
  const secret = randomSecret();
  const item: Item = { hash: hash(secret).toString("hex"), ...(record as unknown as Item) };
  if (entry.until !== undefined) item.expiresAt = Math.ceil(entry.until / 1000);
  await table.put({ ...item, pk: partition, sk: id }, absent("pk"));
  return { ...entry, token: `gsv_${id}_${secret}` };
}

/** 256 random bits as 43 characters. */
export function randomSecret(): string {
  return randomBytes(secretBytes).toString("base64url");
}

/** The id of a new token of a program, and its record. */
export function newProgramToken(): { id: string; key: Key } {
  const id = `${programMark}${randomLetters(idLength)}`;
  return { id, key: keyOf(id) };
}

/** The id of a program's token, from text in which a program sent it; undefined for any other text. */
export function programTokenKey(id: string): Key | undefined {
  return /^m-[a-km-np-z2-9]{10}$/.test(id) ? keyOf(id) : undefined;
}

/** Random letters and digits of five bits each, without those that look alike. */
export function randomLetters(length: number): string {
  return Array.from(randomBytes(length), (byte) => idAlphabet[byte & 31]).join("");
}

/** The token with this name, upper and lower case alike, other than `id`. */
async function findNamed(
  table: Table,
  name: string,
  now: number,
  id?: string,
): Promise<TokenEntry | undefined> {
  const isSame = (token: TokenEntry) => token.name.toLowerCase() === name.toLowerCase() && token.id !== id;
  return (await listTokens(table, now)).find(isSame);
}

/** @throws PeerError 409 when a token other than `id` has this name */
async function refuseTaken(table: Table, name: string, id: string, now: number): Promise<void> {
  const taken = await findNamed(table, name, now, id);
  if (!taken) return;
  const message = `name: the token ${taken.id} is already named "${taken.name}"; choose another name, or revoke it (\`gsv token revoke ${taken.id}\`)`;
  throw new PeerError(code.conflict, message);
}

/**
 * Creates a token with the scope admin, for a person who has shown that they may administer the gateway.
 * @param now epoch milliseconds
 */
export function createAdminToken(table: Table, now: number): ReturnType<typeof createToken> {
  return createToken(table, { name: `admin-${randomUUID()}`, scopes: ["admin"] }, now);
}

/** All tokens that are neither revoked nor expired, oldest first. */
export async function listTokens(table: Table, now: number): Promise<TokenEntry[]> {
  const items = await Promise.all([table.query({ pk: partition }), table.query({ pk: programPartition })]);
  return items
    .flat()
    .map((item) => (item.renewUntil === undefined ? item : { ...item, until: item.renewUntil }))
    .filter((item) => isGood(item, now))
    .map(readRecord)
    .sort((a, b) => a.createdAt - b.createdAt);
}

/** Whether the token of this id exists and is neither revoked nor expired. */
export async function isGoodToken(table: Table, id: string, now: number): Promise<boolean> {
  return (await findGood(table, id, now)) !== undefined;
}

/**
 * Marks a token as revoked. From then on every check refuses it, and no list of peers contains its peers. Safe to repeat.
 * @param now epoch milliseconds
 * @returns false when it does not exist
 */
export async function revokeToken(table: Table, id: string, now: number): Promise<boolean> {
  if (!(await table.get(keyOf(id)))) return false;
  await hidePeersOf(table, id, now);
  const mark = [set("revokedAt", now), set("expiresAt", Math.floor(now / 1000) + revokedSeconds)];
  return succeeds(table.update(keyOf(id), mark, exists("hash")));
}

/** Checks tokens. Nothing is cached: a check that begins after a revocation or the token's end refuses the token. */
export interface TokenVerifier {
  /** The holder of a token; undefined when it is malformed, unknown, revoked or expired, or its secret is wrong. */
  verify(token: string): Promise<TokenHolder | undefined>;
  /** Whether the token of this id exists and is neither revoked nor expired. */
  isGood(id: string): Promise<boolean>;
}

/**
 * A malformed token costs no read.
 * @param recordsUse false for a function that may not write tokens
 */
export function createTokenVerifier(
  table: Table,
  now: () => number,
  { recordsUse = true }: { recordsUse?: boolean } = {},
): TokenVerifier {
  return {
    isGood: (id) => isGoodToken(table, id, now()),
    async verify(token) {
      const [, id = "", secret = ""] = tokenPattern.exec(token) ?? [];
      if (id === "") return undefined;
      const item = await findGood(table, id, now());
      if (!item || !timingSafeEqual(Buffer.from(String(item.hash), "hex"), hash(secret))) return undefined;
      const { createdAt: _createdAt, lastUsedAt = 0, device, ...holder } = readRecord(item);
      const at = now();
      const renewed = device ? { until: at + deviceTokenMs } : {};
      const isDue = recordsUse && at - lastUsedAt >= lastUsedStepMs;
      if (isDue && !(await recordUse(table, id, at, renewed.until))) return undefined;
      return isDue ? { ...holder, ...renewed } : holder;
    },
  };
}

/** The error for a peer whose token has been revoked or has expired. */
export function revoked(): PeerError {
  return new PeerError(code.unauthorized, "the token was revoked or has expired");
}

/** Whether a token belongs to a device, such as a browser, which got it for a code. */
export async function isDevice(table: Pick<Table, "get">, id: string): Promise<boolean> {
  return (await table.get(keyOf(id)))?.device === true;
}

async function findGood(table: Table, id: string, now: number): Promise<Item | undefined> {
  const item = await table.get(keyOf(id));
  return item && isGood(item, now) ? item : undefined;
}

function isGood({ hash, revokedAt, until }: Item, now: number): boolean {
  return hash !== undefined && revokedAt === undefined && (until === undefined || now < Number(until));
}

const isStillGood = all(exists("hash"), absent("revokedAt"));

/**
 * @param until the new end of a device's token; epoch ms
 * @returns false when the token was revoked meanwhile; other errors are ignored: the next use is recorded again
 */
async function recordUse(table: Table, id: string, at: number, until?: number): Promise<boolean> {
  const renewal = until === undefined ? [] : [set("until", until), set("expiresAt", Math.ceil(until / 1000))];
  try {
    await table.update(keyOf(id), [set("lastUsedAt", at), ...renewal], isStillGood);
    return true;
  } catch (error) {
    return !(error instanceof ConditionFailed);
  }
}

function readRecord(item: Item): TokenEntry {
  const granted = new Set(Array.isArray(item.scopes) ? item.scopes : []);
  return {
    id: String(item.sk),
    name: String(item.name),
    scopes: (item.pk === programPartition ? programScopes : scopes).filter((scope) => granted.has(scope)),
    createdAt: Number(item.createdAt),
    ...(item.lastUsedAt === undefined ? {} : { lastUsedAt: Number(item.lastUsedAt) }),
    ...(item.until === undefined ? {} : { until: Number(item.until) }),
    ...(item.device === undefined ? {} : { device: true }),
    ...(item.channel === undefined
      ? {}
      : { channel: String(item.channel), accountId: String(item.accountId) }),
  };
}

function hash(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
