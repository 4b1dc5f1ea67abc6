import { createHash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { code, PeerError } from "../protocol/errors.ts";
import { type Scope, scopes } from "../protocol/methods.ts";
import type { TokenEntry } from "../protocol/results.ts";
import { absent, all, exists, set } from "../world/expression.ts";
import { ConditionFailed, type Item, succeeds, type Table } from "../world/world.ts";
import { hidePeersOf } from "./registry.ts";

const partition = "TOKEN";

/** 32 letters and digits that do not look alike: five bits of a random byte choose one. */
const idAlphabet = "abcdefghijkmnpqrstuvwxyz23456789";
const idLength = 10;
const secretBytes = 32;

/** `gsv_{id}_{secret}`: the id is the record's key, the secret (43 characters of base64url) authenticates. */
const tokenPattern = /^gsv_([a-km-np-z2-9]{10})_([A-Za-z0-9_-]{43})$/;

/** `lastUsedAt` is written at most this often, in milliseconds. Lists show it to the minute. */
const lastUsedStepMs = 60_000;

/** A token with the scope admin is valid for this long, in milliseconds. Those of earlier versions do not expire. */
export const adminTokenMs = 15 * 60_000;

/** TTL of a revoked token's record, in seconds. A token without a record is refused as a revoked one is. */
const revokedSeconds = 30 * 86_400;

/** The identity and rights of a verified token. */
export type TokenHolder = Omit<TokenEntry, "createdAt" | "lastUsedAt">;

/** The name, scopes and binding of a new token. */
export type TokenPurpose = Pick<TokenEntry, "name" | "channel" | "accountId"> & { scopes: readonly Scope[] };

/**
 * Creates a token; only its secret's SHA-256 is stored. A token with the scope admin expires after `adminTokenMs`.
 * @param now epoch milliseconds
 * @throws PeerError 409 when another token has this name, upper and lower case alike
 */
export async function createToken(
  table: Table,
  { name, scopes, channel, accountId = "default" }: TokenPurpose,
  now: number,
): Promise<TokenEntry & { token: string }> {
  const id = Array.from(randomBytes(idLength), (byte) => idAlphabet[byte & 31]).join("");
  await refuseTaken(table, name, id, now);
  const secret = randomBytes(secretBytes).toString("base64url");
  const bound: Pick<TokenEntry, "channel" | "accountId"> =
    channel === undefined ? {} : { channel, accountId };
  const until = scopes.includes("admin") ? now + adminTokenMs : undefined;
  const end = until === undefined ? {} : { until };
  const record = { name, scopes: [...scopes], createdAt: now, ...end, ...bound };
  const item: Item = { hash: hash(secret).toString("hex"), ...(record as unknown as Item) };
  if (until !== undefined) item.expiresAt = Math.ceil(until / 1000);
  await table.put({ ...item, pk: partition, sk: id }, absent("pk"));
  // When two tokens with one name are created at the same time, the one written last sees the other here.
  await refuseTaken(table, name, id, now).catch(async (error: unknown) => {
    await table.delete({ pk: partition, sk: id });
    throw error;
  });
  return { id, token: `gsv_${id}_${secret}`, ...record };
}

/** @throws PeerError 409 when a token other than `id` has this name */
async function refuseTaken(table: Table, name: string, id: string, now: number): Promise<void> {
  const same = (token: TokenEntry) => token.name.toLowerCase() === name.toLowerCase() && token.id !== id;
  const taken = (await listTokens(table, now)).find(same);
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
  const items = await table.query({ pk: partition });
  return items
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
  if (!(await table.get({ pk: partition, sk: id }))) return false;
  await hidePeersOf(table, id, now);
  const mark = [set("revokedAt", now), set("expiresAt", Math.floor(now / 1000) + revokedSeconds)];
  return succeeds(table.update({ pk: partition, sk: id }, mark, exists("hash")));
}

/** Checks tokens. Nothing is cached: a check that begins after a revocation or the token's end refuses the token. */
export interface TokenVerifier {
  /** The holder of a token; undefined when it is malformed, unknown, revoked or expired, or its secret is wrong. */
  verify(token: string): Promise<TokenHolder | undefined>;
  /** Whether the token of this id exists and is neither revoked nor expired. */
  isGood(id: string): Promise<boolean>;
}

/** A malformed token costs no read. */
export function createTokenVerifier(table: Table, now: () => number): TokenVerifier {
  return {
    isGood: (id) => isGoodToken(table, id, now()),
    async verify(token) {
      const [, id = "", secret = ""] = tokenPattern.exec(token) ?? [];
      if (id === "") return undefined;
      const item = await findGood(table, id, now());
      if (!item || !timingSafeEqual(Buffer.from(String(item.hash), "hex"), hash(secret))) return undefined;
      const { createdAt: _createdAt, lastUsedAt = 0, ...holder } = readRecord(item);
      const isDue = now() - lastUsedAt >= lastUsedStepMs;
      if (isDue && !(await recordUse(table, id, now()))) return undefined;
      return holder;
    },
  };
}

/** The error for a peer whose token has been revoked or has expired. */
export function revoked(): PeerError {
  return new PeerError(code.unauthorized, "the token was revoked or has expired");
}

async function findGood(table: Table, id: string, now: number): Promise<Item | undefined> {
  const item = await table.get({ pk: partition, sk: id });
  return item && isGood(item, now) ? item : undefined;
}

function isGood({ hash, revokedAt, until }: Item, now: number): boolean {
  return hash !== undefined && revokedAt === undefined && (until === undefined || now < Number(until));
}

const isStillGood = all(exists("hash"), absent("revokedAt"));

/**
 * @returns false when the token was revoked meanwhile; other errors are ignored, because the time is only
 * informational
 */
async function recordUse(table: Table, id: string, at: number): Promise<boolean> {
  try {
    await table.update({ pk: partition, sk: id }, [set("lastUsedAt", at)], isStillGood);
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
    scopes: scopes.filter((scope) => granted.has(scope)),
    createdAt: Number(item.createdAt),
    ...(item.lastUsedAt === undefined ? {} : { lastUsedAt: Number(item.lastUsedAt) }),
    ...(item.until === undefined ? {} : { until: Number(item.until) }),
    ...(item.channel === undefined
      ? {}
      : { channel: String(item.channel), accountId: String(item.accountId) }),
  };
}

function hash(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
