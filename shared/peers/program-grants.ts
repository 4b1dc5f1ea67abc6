import { createHash } from "node:crypto";
import { code, PeerError } from "../protocol/errors.ts";
import type { Scope } from "../protocol/methods.ts";
import type { ProgramAsking } from "../protocol/token-results.ts";
import { absent, all, equal, exists, type Step, set } from "../world/expression.ts";
import { type Item, type Key, succeeds, type Table } from "../world/world.ts";
import { newProgramToken, programTokenKey, randomLetters, randomSecret } from "./tokens.ts";

/**
 * Programs that a person lets in: OAuth 2.1 with authorization code and PKCE. A program asks, the owner approves its code in a
 * terminal, the browser returns an authorization code, and the program exchanges that for tokens. Secrets are stored as SHA-256.
 */

/** How long a request, and its authorization code, is valid, in milliseconds. */
const requestMs = 10 * 60_000;

/** How long an access token is valid, and for how long without use it can be renewed, in milliseconds. */
const accessMs = 3_600_000;
const renewalMs = 90 * 86_400_000;

const codeLength = 8;

const isUnanswered = all(exists("wait"), absent("approved"), absent("denied"));

/** A program's request for access. */
export interface GrantRequest {
  clientId: string;
  clientName: string;
  redirectUri: string;
  /** The S256 challenge of PKCE. */
  challenge: string;
  scopes: Scope[];
  state?: string;
}

/** Tokens for a program. */
export interface ProgramTokens {
  accessToken: string;
  refreshToken: string;
  /** Seconds. */
  expiresIn: number;
  scopes: Scope[];
}

const hashOf = (text: string) => createHash("sha256").update(text).digest("base64url");
const requestKey = (typed: string): Key => ({
  pk: "OAUTH",
  sk: typed.toLowerCase().replaceAll(/[\s-]/g, ""),
});
const codePattern = new RegExp(`^[a-km-np-z2-9]{${codeLength}}$`);

/**
 * Stores a request.
 * @param now epoch milliseconds
 * @returns the code that the owner approves, and the secret with which the browser waits
 */
export async function openRequest(
  table: Pick<Table, "put">,
  request: GrantRequest,
  now: number,
): Promise<{ code: string; secret: string }> {
  const [code, secret] = [randomLetters(codeLength), randomSecret()];
  const until = now + requestMs;
  const item = { ...(request as unknown as Item), ...requestKey(code) };
  await table.put({ ...item, wait: hashOf(secret), until, expiresAt: Math.ceil(until / 1000) }, absent("pk"));
  return { code: `${code.slice(0, 4)}-${code.slice(4)}`, secret };
}

async function readOpen(table: Pick<Table, "get">, typed: string, now: number): Promise<Item | undefined> {
  const key = requestKey(typed);
  if (!codePattern.test(key.sk)) return undefined;
  const item = await table.get(key);
  return item && now < Number(item.until) ? item : undefined;
}

/** What a request asks for that is open, and was not denied. @throws PeerError 404 */
export async function readRequest(
  table: Pick<Table, "get">,
  typed: string,
  now: number,
): Promise<ProgramAsking> {
  const item = await readOpen(table, typed, now);
  if (!item || item.denied !== undefined) throw unknownCode();
  const { clientName, clientId, redirectUri, scopes, until, approved } = item;
  return {
    name: String(clientName),
    clientId: String(clientId),
    redirectUri: String(redirectUri),
    scopes: scopes as Scope[],
    until: Number(until),
    approved: approved !== undefined,
  };
}

/**
 * Lets a program in, with some or all of the scopes that it asks for.
 * @throws PeerError 404; 409 for a request that was approved already
 */
export async function approveRequest(
  table: Pick<Table, "get" | "update">,
  typed: string,
  scopes: readonly Scope[] | undefined,
  now: number,
): Promise<ProgramAsking> {
  const asking = await readRequest(table, typed, now);
  const approved = asking.scopes.filter((scope) => scopes === undefined || scopes.includes(scope));
  if (approved.length === 0)
    throw new PeerError(
      code.badRequest,
      `scopes: it asks for ${asking.scopes.join(" and ")}, and for no other`,
    );
  if (!(await succeeds(table.update(requestKey(typed), [set("approved", approved)], isUnanswered))))
    throw answeredAlready();
  return { ...asking, scopes: approved, approved: true };
}

/**
 * Denies a request: its code ends, and the browser tells the program so.
 * @throws PeerError 404; 409 for a request that was approved already
 */
export async function denyRequest(
  table: Pick<Table, "get" | "update">,
  typed: string,
  now: number,
): Promise<ProgramAsking> {
  const asking = await readRequest(table, typed, now);
  if (!(await succeeds(table.update(requestKey(typed), [set("denied", true)], isUnanswered))))
    throw answeredAlready();
  return asking;
}

/** What the browser brings back to the program: an authorization code, or an error of OAuth. */
type ForProgram = Pick<GrantRequest, "redirectUri" | "state"> & ({ code: string } | { error: string });

/**
 * The authorization code of a request, once it is approved. Each call makes another one, and ends the one before.
 * @param secret that of the browser
 * @returns "unknown" for a request that has ended, or another browser's
 */
export async function collectCode(
  table: Pick<Table, "get" | "update">,
  { code: typed, secret }: { code: string; secret: string },
  now: number,
): Promise<ForProgram | "waiting" | "unknown"> {
  const item = await readOpen(table, typed, now);
  if (!item || item.wait !== hashOf(secret)) return "unknown";
  const state = item.state === undefined ? {} : { state: String(item.state) };
  const back = { redirectUri: String(item.redirectUri), ...state };
  if (item.denied !== undefined) return { ...back, error: "access_denied" };
  if (item.approved === undefined) return "waiting";
  const own = randomSecret();
  const steps = [set("codeHash", hashOf(own))];
  if (!(await succeeds(table.update(requestKey(typed), steps, equal("wait", hashOf(secret))))))
    return "unknown";
  return { ...back, code: `${String(item.sk)}.${own}` };
}

/**
 * Exchanges an authorization code for tokens, once.
 * @returns undefined for a code that is wrong, used, expired, or not for this program, address or verifier
 */
export async function exchangeCode(
  table: Pick<Table, "get" | "put" | "delete">,
  given: { code: string; clientId: string; redirectUri: string; verifier: string },
  now: number,
): Promise<ProgramTokens | undefined> {
  const [typed = "", secret = ""] = given.code.split(".");
  const item = await readOpen(table, typed, now);
  if (!item || secret === "" || item.codeHash !== hashOf(secret)) return undefined;
  const isSame =
    item.clientId === given.clientId &&
    item.redirectUri === given.redirectUri &&
    item.challenge === hashOf(given.verifier);
  // A wrong verifier ends the code too: nobody tries again with the right one.
  const isMine = await succeeds(table.delete(requestKey(typed), equal("codeHash", hashOf(secret))));
  if (!isMine || !isSame) return undefined;
  const { id, key } = newProgramToken();
  const scopes = item.approved as Scope[];
  const { fields, tokens } = newTokens(id, scopes, now);
  const name = `${String(item.clientName)} (${id.slice(-4)})`;
  await table.put(
    { ...key, name, scopes, createdAt: now, clientId: given.clientId, ...fields },
    absent("pk"),
  );
  return tokens;
}

/**
 * Renews tokens. Of several renewals with one refresh token, one succeeds.
 * @returns undefined for a refresh token that is wrong, used, revoked or expired, or another program's
 */
export async function renewTokens(
  table: Pick<Table, "get" | "update">,
  given: { refreshToken: string; clientId: string },
  now: number,
): Promise<ProgramTokens | undefined> {
  const [, id = "", secret = ""] = /^gsvr_([^_]+)_(.+)$/.exec(given.refreshToken) ?? [];
  const key = programTokenKey(id);
  if (!key) return undefined;
  const item = await table.get(key);
  const isGood = item?.refresh === hashOf(secret) && item.clientId === given.clientId;
  if (!item || !isGood || now >= Number(item.renewUntil)) return undefined;
  const { fields, tokens } = newTokens(id, item.scopes as Scope[], now);
  const steps: Step[] = Object.entries(fields).map(([name, value]) => set(name, value));
  const isUnused = all(equal("refresh", hashOf(secret)), absent("revokedAt"));
  return (await succeeds(table.update(key, steps, isUnused))) ? tokens : undefined;
}

function newTokens(id: string, scopes: Scope[], now: number) {
  const [access, refresh] = [randomSecret(), randomSecret()];
  const renewUntil = now + renewalMs;
  const fields = {
    hash: createHash("sha256").update(access).digest("hex"),
    refresh: hashOf(refresh),
    until: now + accessMs,
    renewUntil,
    expiresAt: Math.ceil(renewUntil / 1000),
  };
  const tokens: ProgramTokens = {
    accessToken: `gsv_${id}_${access}`,
    refreshToken: `gsvr_${id}_${refresh}`,
    expiresIn: accessMs / 1000,
    scopes,
  };
  return { fields, tokens };
}

function answeredAlready(): PeerError {
  return new PeerError(code.conflict, "this request was answered already; `gsv token revoke` ends an access");
}

function unknownCode(): PeerError {
  const message =
    "there is no request with this code; it is valid for ten minutes. Begin again in the program";
  return new PeerError(code.notFound, message);
}
