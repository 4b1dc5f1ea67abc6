import type { McpServer } from "../configuration/mcp-servers.ts";
import { ownSetting } from "../configuration/pattern.ts";
import type { ConfigurationStore } from "../configuration/store.ts";
import { code, PeerError } from "../protocol/errors.ts";
import type { McpProbe, McpServerEntry, McpToolEntry } from "../protocol/mcp.ts";
import type { World } from "../world/world.ts";
import {
  cataloguesIn,
  deleteCatalogue,
  fitCatalogue,
  mcpPartition,
  offeredTools,
  putCatalogue,
} from "./catalogue.ts";
import { beginLogin, completeLogin, consumeReturn, forgetLogin } from "./login.ts";
import { McpFault } from "./mcp-fault.ts";
import { endedLogins, openAddresses } from "./server-address.ts";

/** The longest probe, in milliseconds: the socket function ends after 29 s. */
const probeMs = 15_000;

/** The dependencies of managing servers. */
export interface ManagedServers extends Pick<World, "table" | "now" | "pause"> {
  configuration: ConfigurationStore;
  /** Not cached. */
  serverSecrets: World["secrets"];
  webhookUrl?: string;
}

/** Adds a server or changes it, and asks for its tools. It is stored also if it does not answer. @throws PeerError 400 */
export async function addServer(
  managed: ManagedServers,
  {
    name,
    url,
    token,
    class: least,
  }: { name: string; url: string; token?: string; class?: McpServer["class"] },
): Promise<McpProbe> {
  await managed.configuration.change(`mcp.servers.${name}`, (before) => {
    const { auth, ...kept } = (before ?? {}) as Partial<McpServer>;
    // A token or a login is for one address.
    const isSame = kept.url === url;
    const authNow = token === undefined ? (isSame ? auth : undefined) : { token };
    return {
      ...{ ...kept, url },
      ...(authNow === undefined ? {} : { auth: authNow }),
      ...(least === undefined ? {} : { class: least }),
    };
  });
  return probeServer(managed, name);
}

/** Asks a server for its tools, and stores them. A server that does not answer is a result with a fault. @throws PeerError 404 */
export async function probeServer(managed: ManagedServers, name: string): Promise<McpProbe> {
  const { table, now, serverSecrets: secrets, pause } = managed;
  const settings = await settingsOf(managed, name);
  const startedAt = now();
  try {
    const { withServer } = await import("./server-connection.ts");
    const address = openAddresses({ table, secrets, now, pause })(name, settings);
    const signal = AbortSignal.timeout(probeMs);
    const listed = await withServer(address, (connection) => connection.list(now()), { signal });
    const catalogue = fitCatalogue(listed);
    await putCatalogue(table, name, catalogue);
    const protocol = catalogue.discovered === undefined ? "earlier" : "2026-07-28";
    return { name, tools: catalogue.tools.length, protocol, durationMs: now() - startedAt };
  } catch (error) {
    if (!(error instanceof McpFault)) throw error;
    const { message: fault, needsLogin } = error;
    const isLogin = needsLogin ? { needsLogin: true as const } : {};
    return { name, tools: 0, durationMs: now() - startedAt, fault, ...isLogin };
  }
}

export async function listServers({ configuration, table }: ManagedServers): Promise<McpServerEntry[]> {
  const loaded = await configuration.load({ fresh: true });
  const [items, ended] = await Promise.all([
    table.query({ pk: mcpPartition, prefix: "C#" }),
    endedLogins(table),
  ]);
  const catalogues = cataloguesIn(items, loaded);
  return Object.entries(loaded.mcp.servers)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { url, enabled, auth, class: least = "message" }]) => {
      const { tools, listedAt } = catalogues.get(name) ?? {};
      return {
        ...{ name, url, enabled: enabled !== false, class: least },
        auth: auth?.accessToken !== undefined ? "login" : auth?.token !== undefined ? "token" : "none",
        ...(tools === undefined ? {} : { tools: tools.length }),
        ...(listedAt === undefined ? {} : { listedAt }),
        ...(auth?.accessToken !== undefined && ended.has(name) ? { needsLogin: true as const } : {}),
      };
    });
}

/** The tools that the agent may call, as they were last listed. @param server of this one @throws PeerError 404 */
export async function listTools(managed: ManagedServers, server?: string): Promise<McpToolEntry[]> {
  if (server !== undefined) await settingsOf(managed, server);
  const loaded = await managed.configuration.load({ fresh: true });
  const catalogues = cataloguesIn(await managed.table.query({ pk: mcpPartition, prefix: "C#" }), loaded);
  return offeredTools(loaded, catalogues)
    .filter((one) => server === undefined || one.server === server)
    .map(({ definition: { name, description }, ...one }) => ({
      ...{ name, server: one.server, tool: one.tool.name, class: one.class, description },
    }));
}

/** Begins a login. @throws PeerError 404, 409 with a sentence */
export async function loginServer(managed: ManagedServers, name: string) {
  const settings = await settingsOf(managed, name);
  return asPeerError(() => beginLogin(withWebhook(managed), name, settings));
}

/** Completes a login once the browser has returned. @throws PeerError 404, 409 with a sentence */
export async function finishServerLogin(
  managed: ManagedServers,
  name: string,
): Promise<McpProbe | undefined> {
  await settingsOf(managed, name);
  const done = await asPeerError(() => consumeReturn(withWebhook(managed), name));
  if (!done) return undefined;
  const { accessToken, refreshToken, clientSecret } = done.tokens;
  await managed.configuration.change(`mcp.servers.${name}.auth`, () => ({
    accessToken,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
  }));
  await completeLogin(managed, name, done);
  return probeServer(managed, name);
}

/** Removes a server with its secrets. @returns false when there was none */
export async function removeServer(managed: ManagedServers, name: string): Promise<boolean> {
  const { configuration, table } = managed;
  const isSet = await configuration.isSet(`mcp.servers.${name}`);
  await configuration.change(`mcp.servers.${name}`, () => null);
  await Promise.all([deleteCatalogue(table, name), forgetLogin(managed, name)]);
  return isSet;
}

async function settingsOf({ configuration }: ManagedServers, name: string): Promise<McpServer> {
  const { mcp } = await configuration.load({ fresh: true });
  const settings = ownSetting(mcp.servers, name);
  if (settings) return settings;
  throw new PeerError(code.notFound, `there is no MCP server ${name}: gsv mcp add ${name} URL adds it`);
}

function withWebhook({ table, now, webhookUrl }: ManagedServers) {
  if (webhookUrl !== undefined) return { table, now, webhookUrl };
  throw new PeerError(code.conflict, "this gateway has no address to which a browser could return");
}

async function asPeerError<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof McpFault) throw new PeerError(code.conflict, error.message);
    throw error;
  }
}
