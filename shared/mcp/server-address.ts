import type { McpServer } from "../configuration/mcp-servers.ts";
import { absent, all, any, below, equal, remove, set } from "../world/expression.ts";
import { type Item, type Key, type Secrets, succeeds, type Table } from "../world/world.ts";
import { mcpPartition } from "./catalogue.ts";
import { McpFault } from "./mcp-fault.ts";
import type { OAuthFacts, Tokens } from "./oauth.ts";
import type { ServerAddress } from "./server-connection.ts";

/** A token is refreshed this long before it expires. Milliseconds. */
const earlyMs = 60_000;

/** How long one instance may refresh, and how often the others look whether it has. Milliseconds. */
const claimMs = 40_000;
const lookMs = 250;

/** The dependencies of addresses. */
export interface AddressWorld {
  table: Pick<Table, "get" | "put" | "update" | "delete">;
  /** Not cached: another instance may have replaced a token a moment ago. */
  secrets: Pick<Secrets, "get" | "put">;
  now: () => number;
  pause: (ms: number) => Promise<unknown>;
}

/** When a login's token expires, and how often it was replaced. */
interface Login {
  generation: number;
  /** Epoch ms. */
  tokenUntil?: number;
  url: string;
  facts: OAuthFacts;
}

const loginPrefix = "T#";
export const loginKey = (server: string): Key => ({ pk: mcpPartition, sk: `${loginPrefix}${server}` });

const secretPath = (server: string, name: string) => `mcp.servers.${server}.auth.${name}`;

/** Opens the addresses of servers. Remembers each server's newest token. */
export function openAddresses(world: AddressWorld): (name: string, settings: McpServer) => ServerAddress {
  const known = new Map<string, { generation: number; token: string }>();
  return (name, settings) => {
    const { url, auth } = settings;
    if (auth?.accessToken === undefined) return withOwnToken(world, name, settings);
    let used: number | undefined;
    const newest = async (): Promise<string> => {
      const login = await readLogin(world, name, url);
      const isOld = login.tokenUntil !== undefined && login.tokenUntil - earlyMs <= world.now();
      const current = isOld ? await refresh(world, name, url, login.generation) : login;
      used = current.generation;
      const cached = known.get(name);
      if (cached?.generation === used) return cached.token;
      const token = await world.secrets.get(secretPath(name, "accessToken"));
      if (token === undefined) throw needsLogin(name);
      known.set(name, { generation: used, token });
      return token;
    };
    return {
      ...{ name, url, token: newest },
      async renew() {
        await refresh(world, name, url, used ?? (await readLogin(world, name, url)).generation);
      },
    };
  };
}

/** A server with the token of its settings, or without one. */
function withOwnToken({ secrets }: AddressWorld, name: string, { url, auth }: McpServer): ServerAddress {
  const path = secretPath(name, "token");
  return {
    name,
    url,
    token: async () => (auth?.token === undefined ? undefined : await secrets.get(path)),
    async renew() {
      const todo =
        auth?.token === undefined ? `run gsv mcp login ${name}, or set ${path}` : `set another ${path}`;
      throw new McpFault(`${name} accepts no request without a valid login: ${todo}`, { needsLogin: true });
    },
  };
}

function needsLogin(name: string): McpFault {
  return new McpFault(`the login at ${name} is over: run gsv mcp login ${name}`, { needsLogin: true });
}

async function readLogin({ table }: AddressWorld, name: string, url: string): Promise<Login> {
  const login = toLogin(await table.get(loginKey(name)));
  // A token of another address would be shown to a server that it is not for.
  if (login?.url !== url) throw needsLogin(name);
  return login;
}

/** The names of the servers whose logins were over when they were used last, until the next login. */
export async function endedLogins(table: Pick<Table, "query">): Promise<Set<string>> {
  const logins = await table.query({ pk: mcpPartition, prefix: loginPrefix });
  return new Set(logins.filter(({ isOver }) => isOver).map(({ sk }) => String(sk).slice(loginPrefix.length)));
}

function toLogin(item: Item | undefined): Login | undefined {
  return item && { ...(item as unknown as Login), facts: JSON.parse(String(item.facts)) as OAuthFacts };
}

/**
 * Replaces a token. One instance claims its generation by a conditional write and spends the refresh token; the others wait for it.
 * @throws McpFault
 */
async function refresh(world: AddressWorld, name: string, url: string, generation: number): Promise<Login> {
  const { table, now, pause } = world;
  const end = now() + claimMs;
  do {
    const login = await readLogin(world, name, url);
    if (login.generation !== generation) return login;
    const free = any(absent("refreshing"), below("refreshing", now()));
    const claim = [set("refreshing", now() + claimMs)];
    if (await succeeds(table.update(loginKey(name), claim, all(equal("generation", generation), free))))
      return exchange(world, name, login);
    await pause(lookMs);
  } while (now() < end);
  throw new McpFault(`the login at ${name} is being refreshed by another session: try again`, {
    isPassing: true,
  });
}

async function exchange(world: AddressWorld, name: string, login: Login): Promise<Login> {
  const { secrets, table } = world;
  const { url, facts, generation } = login;
  try {
    const [refreshToken, clientSecret] = await Promise.all([
      secrets.get(secretPath(name, "refreshToken")),
      secrets.get(secretPath(name, "clientSecret")),
    ]);
    if (refreshToken === undefined) throw needsLogin(name);
    const { refreshTokens } = await import("./oauth.ts");
    const tokens = await refreshTokens({ name, url }, facts, refreshToken, clientSecret);
    // The refresh token first: without it a crash in between would need another login.
    if (tokens.refreshToken !== undefined && tokens.refreshToken !== refreshToken)
      await secrets.put(secretPath(name, "refreshToken"), tokens.refreshToken);
    await secrets.put(secretPath(name, "accessToken"), tokens.accessToken);
    return await storeLogin(world, name, { url, facts, generation: generation + 1 }, tokens);
  } catch (error) {
    const isOver = error instanceof McpFault && error.needsLogin;
    const ended = [remove("refreshing"), ...(isOver ? [set("isOver", true)] : [])];
    await succeeds(table.update(loginKey(name), ended, equal("generation", generation)));
    throw error;
  }
}

/** Stores when a login's token expires. Its tokens are stored before. */
export async function storeLogin(
  { table, now }: Pick<AddressWorld, "table" | "now">,
  name: string,
  login: Omit<Login, "tokenUntil">,
  { expiresIn }: Pick<Tokens, "expiresIn">,
): Promise<Login> {
  const until = expiresIn === undefined ? undefined : { tokenUntil: now() + expiresIn * 1000 };
  await table.put({ ...loginKey(name), ...login, ...until, facts: JSON.stringify(login.facts) });
  return { ...login, ...until };
}
