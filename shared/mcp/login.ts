import { randomBytes } from "node:crypto";
import type { McpServer } from "../configuration/mcp-servers.ts";
import type { Item, Key, Table } from "../world/world.ts";
import { mcpPartition } from "./catalogue.ts";
import { callbackPath, documentPath, returnKey, returnPartition } from "./login-return.ts";
import { McpFault } from "./mcp-fault.ts";
import type { OAuthFacts, Tokens } from "./oauth.ts";
import { loginKey, storeLogin } from "./server-address.ts";

/** How long the owner may take in the browser, in milliseconds. */
const loginMs = 600_000;

const startedKey = (server: string): Key => ({ pk: mcpPartition, sk: `L#${server}` });

interface LoginWorld {
  table: Table;
  now: () => number;
  /** Ends in a slash. */
  webhookUrl: string;
}

/**
 * Begins a login; an earlier one of the same server ends.
 * @returns the address that the owner opens, and until when
 * @throws McpFault
 */
export async function beginLogin(
  { table, now, webhookUrl }: LoginWorld,
  name: string,
  { url }: McpServer,
): Promise<{ address: string; until: number }> {
  const state = randomBytes(32).toString("base64url");
  const documentUrl = webhookUrl.startsWith("https:") ? `${webhookUrl}${documentPath}` : undefined;
  const { startLogin } = await import("./oauth.ts");
  const server = { name, url, callback: `${webhookUrl}${callbackPath}` };
  const { address, verifier, facts } = await startLogin(server, state, documentUrl);
  const until = now() + loginMs;
  const expiresAt = Math.ceil(until / 1000);
  await table.put({ ...returnKey(state), until, expiresAt });
  const login = JSON.stringify({ url, verifier, facts, returned: returnKey(state).sk });
  await table.put({ ...startedKey(name), login, until, expiresAt });
  return { address, until };
}

/**
 * Completes a login after the browser has returned; the state is used once.
 * @returns the tokens, which the caller stores before it calls `completeLogin`; undefined while the browser has not returned
 * @throws McpFault
 */
export async function consumeReturn(
  { table, now, webhookUrl }: LoginWorld,
  name: string,
): Promise<{ tokens: Tokens; url: string; facts: OAuthFacts } | undefined> {
  const started = await table.get(startedKey(name));
  const again = `run gsv mcp login ${name} again`;
  if (!started || Number(started.until) <= now()) throw new McpFault(`no login at ${name} waits: ${again}`);
  const { url, verifier, facts, returned } = JSON.parse(String(started.login)) as {
    url: string;
    verifier: string;
    facts: OAuthFacts;
    returned: string;
  };
  const brought = await usedOnce(table, { pk: returnPartition, sk: returned });
  if (!brought) return undefined;
  await table.delete(startedKey(name));
  if (brought.error !== undefined)
    throw new McpFault(
      `the login at ${name} was refused in the browser (${String(brought.error)}): ${again}`,
    );
  const { finishLogin } = await import("./oauth.ts");
  const server = { name, url, callback: `${webhookUrl}${callbackPath}` };
  const code = {
    code: String(brought.code),
    ...(brought.issuer === undefined ? {} : { issuer: String(brought.issuer) }),
  };
  return { tokens: await finishLogin(server, { verifier, facts }, code), url, facts };
}

async function usedOnce(table: Table, key: Key): Promise<Item | undefined> {
  const item = await table.get(key);
  if (item?.code === undefined && item?.error === undefined) return undefined;
  return (await table.delete(key)) ?? undefined;
}

/** Stores a login whose tokens are in the secrets. */
export async function completeLogin(
  world: Pick<LoginWorld, "table" | "now">,
  name: string,
  { tokens, url, facts }: { tokens: Tokens; url: string; facts: OAuthFacts },
): Promise<void> {
  const { client_secret: _, ...client } = facts.client as { client_secret?: string; client_id: string };
  const before = await world.table.get(loginKey(name));
  const generation = Number(before?.generation ?? 0) + 1;
  await storeLogin(world, name, { url, facts: { ...facts, client }, generation }, tokens);
}

/** Removes everything that is known of a server's logins, except its secrets. */
export async function forgetLogin({ table }: Pick<LoginWorld, "table">, name: string): Promise<void> {
  await Promise.all([table.delete(loginKey(name)), table.delete(startedKey(name))]);
}
