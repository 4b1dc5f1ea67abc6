import type { Configuration } from "../../../shared/configuration/schema.ts";
import {
  activeServers,
  type Catalogue,
  cataloguesIn,
  fitCatalogue,
  isSameTool,
  mcpPartition,
  type OfferedTool,
  offeredTools,
  putCatalogue,
} from "../../../shared/mcp/catalogue.ts";
import { McpFault } from "../../../shared/mcp/mcp-fault.ts";
import { openAddresses } from "../../../shared/mcp/server-address.ts";
import type { Connection, RemoteAnswer } from "../../../shared/mcp/server-connection.ts";
import type { RemoteTask } from "../../../shared/mcp/task-wire.ts";
import { logError } from "../../../shared/runtime/log.ts";
import type { Item, World } from "../../../shared/world/world.ts";

/** A catalogue is listed again at most this often to offer tools. A call checks it again, if its server does not vouch for it. */
const minAgeMs = 300_000;

/** How long a run waits for lists that are too old. Afterwards the earlier ones are used. */
const listMs = 5000;

/** How long stored catalogues are reused by a warm function, and how long a server is left alone that did not list its tools. */
const readAgainMs = 5000;
const retryMs = 60_000;

/** What `server/discover` said is reused this long. */
const discoveredMs = 3_600_000;

/** The tools of MCP servers. Without configured servers it reads nothing and loads nothing. */
export interface RemoteTools {
  /** Begins to read the stored catalogues, beside other reads. */
  prepare(configuration: Configuration): void;
  /** The tools that the settings offer, in a fixed order. Does not throw: a server that does not answer keeps its earlier tools. */
  offered(configuration: Configuration): Promise<OfferedTool[]>;
  /** Calls a tool, if its server still describes it as it was offered. @throws McpFault */
  call(
    tool: OfferedTool,
    args: Record<string, unknown>,
    timeoutMs: number,
    signal: AbortSignal,
    given?: { responses: Record<string, unknown>; state?: string },
  ): Promise<RemoteAnswer>;
  /** Answers the questions of a task. @throws McpFault */
  answer(server: string, taskId: string, responses: Record<string, unknown>): Promise<void>;
  /** Asks about a task. @throws McpFault */
  task(server: string, taskId: string): Promise<RemoteTask>;
  /** Asks a server to end a task. @throws McpFault */
  cancel(server: string, taskId: string): Promise<void>;
}

export type RemoteWorld = Pick<World, "table" | "secrets" | "now" | "pause"> & {
  configuration: { load(): Promise<Configuration> };
};

/** Opens the tools of MCP servers. `lazy-remote-tools.ts` loads this file when a server is configured. */
export function openRemoteTools(world: RemoteWorld): RemoteTools {
  const { now } = world;
  const store = openCatalogues(world);
  const addressOf = openAddresses(world);
  const failedAt = new Map<string, number>();
  const listing = new Map<string, Promise<Catalogue | undefined>>();
  /** Connects to a server that is still configured. Its catalogue, if it is not too old, replaces the discovery. */
  const connect = async <T>(
    server: string,
    use: (connection: Connection, catalogue: Catalogue | undefined) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> => {
    const configuration = await world.configuration.load();
    const { servers } = configuration.mcp;
    const settings = Object.hasOwn(servers, server) ? servers[server] : undefined;
    if (!settings)
      throw new McpFault(`${server} is no configured server any more: gsv mcp list names those there are`);
    const catalogue = (await store.read(configuration)).get(server);
    const isKnown = catalogue !== undefined && now() - catalogue.listedAt < discoveredMs;
    const { withServer } = await import("../../../shared/mcp/server-connection.ts");
    return withServer(addressOf(server, settings), (connection) => use(connection, catalogue), {
      ...(isKnown ? { known: catalogue } : {}),
      ...(signal ? { signal } : {}),
    });
  };
  const listNow = async (server: string): Promise<Catalogue | undefined> => {
    try {
      return await connect(
        server,
        (connection) => store.list(server, connection),
        AbortSignal.timeout(listMs),
      );
    } catch (error) {
      failedAt.set(server, now());
      logError("mcp.unlisted", error, { server });
      return undefined;
    } finally {
      listing.delete(server);
    }
  };
  const listAgain = (server: string): Promise<Catalogue | undefined> => {
    if (now() - (failedAt.get(server) ?? Number.NEGATIVE_INFINITY) < retryMs)
      return Promise.resolve(undefined);
    const started = listing.get(server) ?? listNow(server);
    listing.set(server, started);
    return started;
  };
  return {
    prepare: (configuration) =>
      void (activeServers(configuration).length > 0 && store.read(configuration).catch(() => {})),
    async offered(configuration) {
      const servers = activeServers(configuration).map(([name]) => name);
      if (servers.length === 0) return [];
      const catalogues = await store.read(configuration);
      const old = servers.filter((name) => isOld(catalogues.get(name), now()));
      const listed = await Promise.all(old.map(async (name) => [name, await listAgain(name)] as const));
      for (const [name, catalogue] of listed) if (catalogue) catalogues.set(name, catalogue);
      return offeredTools(configuration, catalogues);
    },
    call: ({ server, tool }, args, timeoutMs, signal, given) =>
      connect(
        server,
        async (connection, catalogue) => {
          const isFresh = catalogue !== undefined && now() - catalogue.listedAt < (catalogue.ttlMs ?? 0);
          checkUnchanged(server, tool, isFresh ? catalogue : await store.list(server, connection));
          return connection.call(tool, args, timeoutMs, given);
        },
        signal,
      ),
    ...taskMethods(connect),
  };
}

/** Uses a connection to a server. */
type Connect = <T>(server: string, use: (connection: Connection) => Promise<T>) => Promise<T>;

const taskMethods = (connect: Connect): Pick<RemoteTools, "task" | "answer" | "cancel"> => ({
  task: (server, taskId) => connect(server, (one) => one.task(taskId)),
  answer: (server, taskId, responses) => connect(server, (one) => one.answer(taskId, responses)),
  cancel: (server, taskId) => connect(server, (one) => one.cancel(taskId)),
});

/** The stored catalogues. A read within `readAgainMs` sends no request. */
function openCatalogues({ table, now }: Pick<RemoteWorld, "table" | "now">) {
  let last: { items: Promise<Item[]>; at: number } | undefined;
  const items = (): Promise<Item[]> => {
    if (last && now() - last.at < readAgainMs) return last.items;
    const started = table.query({ pk: mcpPartition, prefix: "C#" });
    last = { items: started, at: now() };
    started.catch(() => {
      last = undefined;
    });
    return started;
  };
  return {
    read: async (configuration: Configuration) => cataloguesIn(await items(), configuration),
    /** Lists a server's tools, and stores them. */
    async list(server: string, connection: Connection): Promise<Catalogue> {
      const catalogue = fitCatalogue(await connection.list(now()));
      await putCatalogue(table, server, catalogue);
      last = undefined;
      return catalogue;
    },
  };
}

function isOld(catalogue: Catalogue | undefined, now: number): boolean {
  return !catalogue || now - catalogue.listedAt >= Math.max(minAgeMs, catalogue.ttlMs ?? 0);
}

/** @throws McpFault when a server offers another tool under the same name, or none */
function checkUnchanged(server: string, offered: OfferedTool["tool"], { tools }: Catalogue): void {
  const current = tools.find(({ name }) => name === offered.name);
  if (current && isSameTool(current, offered)) return;
  const what = current ? "has changed" : "has removed";
  throw new McpFault(
    `not run: ${server} ${what} its tool ${offered.name} since it was offered to you; read what is offered now, and call that`,
  );
}
