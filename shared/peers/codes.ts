import { createHash } from "node:crypto";
import { code, PeerError } from "../protocol/errors.ts";
import { type Scope, scopes } from "../protocol/methods.ts";
import type { PairingCode } from "../protocol/token-results.ts";
import { add } from "../world/expression.ts";
import type { Item, Key, Table } from "../world/world.ts";
import { isGoodToken, randomLetters } from "./tokens.ts";

/** Characters of a code, each of five bits: in a link, and for typing. */
const longLength = 26;
const shortLength = 8;
const codePattern = new RegExp(
  `^[a-km-np-z2-9]{${shortLength}}(?:[a-km-np-z2-9]{${longLength - shortLength}})?$`,
);

/** An open code accepts no more than this number of tries of codes, by all sockets together. */
const maxTries = 20;

/** What a device gets for a code. `by`: the id of the token that created the code. */
export interface DeviceGrant {
  scopes: Scope[];
  name?: string;
  by: string;
}

/** Counts the codes that were tried. It is never reset: each code stores its value. */
const triesKey: Key = { pk: "CODE#TRIES", sk: "COUNT" };
const keyOf = (text: string): Key => ({ pk: "CODE", sk: createHash("sha256").update(text).digest("hex") });

/**
 * Creates a code, which one device may exchange for a token. Only its SHA-256 is stored.
 * @param seconds how long it is valid
 * @param hasShort also create a form with 8 characters, for typing; the first use of either form ends both
 * @param now epoch milliseconds
 */
export async function createCode(
  table: Table,
  { scopes, name, by }: DeviceGrant,
  { seconds, hasShort }: { seconds: number; hasShort: boolean },
  now: number,
): Promise<PairingCode> {
  const until = now + seconds * 1000;
  const [long, short] = [randomLetters(longLength), randomLetters(shortLength)];
  const key = keyOf(long);
  const tries = await readTries(table);
  const expiresAt = Math.ceil(until / 1000);
  const item: Item & Key = { ...key, scopes, by, until, tries, expiresAt };
  if (name !== undefined) item.name = name;
  await table.put(item);
  if (hasShort) await table.put({ ...keyOf(short), of: key.sk, expiresAt });
  return { code: long, ...(hasShort ? { short } : {}), scopes, expiresAt: until };
}

/**
 * Accepts a code once. A code ends with its time, with the token that created it, and after `maxTries` tries.
 * @param typed the code in any case, with spaces and hyphens
 * @param now epoch milliseconds
 * @throws PeerError 401
 */
export async function redeemCode(table: Table, typed: string, now: number): Promise<DeviceGrant> {
  const text = typed.toLowerCase().replaceAll(/[\s-]/g, "");
  if (!codePattern.test(text)) throw wrongCode();
  // Counted before the code is looked up, so that guesses in parallel are counted too.
  const { tries } = await table.update(triesKey, [add("tries", 1)]);
  const item = await consume(table, keyOf(text));
  if (!item || now >= Number(item.until) || Number(tries) - Number(item.tries) > maxTries) throw wrongCode();
  const by = String(item.by);
  if (!(await isGoodToken(table, by, now))) throw wrongCode();
  const granted = new Set(Array.isArray(item.scopes) ? item.scopes : []);
  const named = item.name === undefined ? {} : { name: String(item.name) };
  return { scopes: scopes.filter((scope) => granted.has(scope)), ...named, by };
}

async function readTries(table: Table): Promise<number> {
  return Number((await table.get(triesKey))?.tries ?? 0);
}

/** Deletes the record of a code, or the one that its short form names. Only one caller gets it. */
async function consume(table: Table, key: Key): Promise<Item | undefined> {
  const item = await table.delete(key);
  return item?.of === undefined ? item : table.delete({ pk: key.pk, sk: String(item.of) });
}

function wrongCode(): PeerError {
  const message = "the code is wrong, used or expired; make another one with `gsv open`";
  return new PeerError(code.unauthorized, message);
}
