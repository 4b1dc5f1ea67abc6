import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { type Scope, scopes } from "../protocol/methods.ts";
import type { TokenEntry } from "../protocol/results.ts";
import { absent, exists, set } from "../world/expression.ts";
import { ConditionFailed, type Item, type Table } from "../world/world.ts";

const partition = "TOKEN";

/** 32 letters and digits that do not look alike: five bits of a random byte choose one. */
const idAlphabet = "abcdefghijkmnpqrstuvwxyz23456789";
const idLength = 10;
const secretBytes = 32;

/** `gsv_{id}_{secret}`: the id is the record's key, the secret (43 characters of base64url) authenticates. */
const tokenPattern = /^gsv_([a-km-np-z2-9]{10})_([A-Za-z0-9_-]{43})$/;

/** `lastUsedAt` is written at most this often, in milliseconds. */
const lastUsedStepMs = 3_600_000;

/** Maximum number of cached records in one warm function; a full cache is cleared. */
const maxCached = 1000;

/** The identity and rights of a verified token. */
export type TokenHolder = Pick<TokenEntry, "id" | "name" | "scopes" | "channel" | "accountId">;

/** The name, scopes and binding of a new token. */
export type TokenPurpose = Pick<TokenEntry, "name" | "channel" | "accountId"> & { scopes: readonly Scope[] };

/**
 * Creates a token; only its secret's SHA-256 is stored.
 * @param now epoch milliseconds
 */
export async function createToken(
  table: Table,
  { name, scopes, channel, accountId = "default" }: TokenPurpose,
  now: number,
): Promise<TokenEntry & { token: string }> {
  const id = Array.from(randomBytes(idLength), (byte) => idAlphabet[byte & 31]).join("");
  const secret = randomBytes(secretBytes).toString("base64url");
  const bound: Pick<TokenEntry, "channel" | "accountId"> =
    channel === undefined ? {} : { channel, accountId };
  const record = { name, scopes: [...scopes], createdAt: now, ...bound };
  const item: Item = { hash: hash(secret).toString("hex"), ...(record as unknown as Item) };
  await table.put({ ...item, pk: partition, sk: id }, absent("pk"));
  return { id, token: `gsv_${id}_${secret}`, ...record };
}

/** All tokens, oldest first. */
export async function listTokens(table: Table): Promise<TokenEntry[]> {
  const items = await table.query({ pk: partition });
  return items.map(readRecord).sort((a, b) => a.createdAt - b.createdAt);
}

/**
 * Deletes a token. Warm functions may accept it until their cached record expires.
 * @returns false when it does not exist
 */
export async function revokeToken(table: Table, id: string): Promise<boolean> {
  return (await table.delete({ pk: partition, sk: id })) !== undefined;
}

export interface TokenVerifier {
  /** The holder of a token; undefined when it is malformed, unknown, revoked, or its secret is wrong. */
  verify(token: string): Promise<TokenHolder | undefined>;
  /**
   * Whether the token of a connected peer still exists. The result may be up to 30 s old; revoking a token
   * also closes its sockets.
   */
  isValid(id: string): Promise<boolean>;
}

/** Maximum age of a connected peer's cached token record, in milliseconds. */
const connectedMaxAgeMs = 30_000;

/**
 * A verifier for one warm function. It caches records for `maxAgeMs` milliseconds, so a revoked token can
 * connect for at most that long. A malformed token costs no read.
 */
export function createTokenVerifier(
  table: Table,
  { maxAgeMs = 5000, now = Date.now }: { maxAgeMs?: number; now?: () => number } = {},
): TokenVerifier {
  const cache = new Map<string, { item: Item; readAt: number }>();

  async function find(id: string, oldestMs = maxAgeMs): Promise<Item | undefined> {
    const cached = cache.get(id);
    if (cached && now() - cached.readAt < oldestMs) return cached.item;
    const readAt = now();
    const item = await table.get({ pk: partition, sk: id });
    // Unknown ids are not cached: guesses would fill the cache.
    if (!item) cache.delete(id);
    else {
      if (cache.size >= maxCached) cache.clear();
      cache.set(id, { item, readAt });
    }
    return item;
  }

  return {
    isValid: async (id) => (await find(id, connectedMaxAgeMs)) !== undefined,
    async verify(token) {
      const [, id, secret] = tokenPattern.exec(token) ?? [];
      if (id === undefined || secret === undefined) return undefined;
      const item = await find(id);
      if (!item || !timingSafeEqual(Buffer.from(String(item.hash), "hex"), hash(secret))) return undefined;
      const record = readRecord(item);
      if (now() - (record.lastUsedAt ?? 0) >= lastUsedStepMs) {
        item.lastUsedAt = now();
        if (!(await noteUse(table, id, now()))) {
          cache.delete(id);
          return undefined;
        }
      }
      const { name, scopes, channel, accountId } = record;
      return { id, name, scopes, ...(channel === undefined ? {} : { channel, accountId }) };
    },
  };
}

/**
 * @returns false when the token was deleted; other errors are ignored, because the time is only informational
 */
async function noteUse(table: Table, id: string, at: number): Promise<boolean> {
  try {
    await table.update({ pk: partition, sk: id }, [set("lastUsedAt", at)], exists("hash"));
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
    ...(item.channel === undefined
      ? {}
      : { channel: String(item.channel), accountId: String(item.accountId) }),
  };
}

function hash(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
