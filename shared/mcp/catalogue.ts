import type { McpServer } from "../configuration/mcp-servers.ts";
import { matchesPattern } from "../configuration/pattern.ts";
import type { Configuration } from "../configuration/schema.ts";
import { type ServerClass, serverClasses } from "../protocol/mcp.ts";
import type { ToolDefinition } from "../protocol/messages.ts";
import type { Item, Key, Table } from "../world/world.ts";
import { offerSchema } from "./tool-arguments.ts";
import { mcpToolName } from "./tool-name.ts";

/** The partition of what the gateway knows of its servers: catalogues, and when tokens expire. */
export const mcpPartition = "MCP";

/** Max tools of one server, and max bytes of its stored catalogue: an item has at most 400 KB. */
const maxTools = 500;
const maxBytes = 300_000;

/** Max characters of a tool's description for the model. */
const maxDescription = 4_000;

/** A tool as its server lists it. */
export interface RemoteTool {
  name: string;
  description?: string;
  inputSchema: Record<string, unknown>;
  annotations?: Record<string, unknown>;
}

/** What a server offered when it was last asked. */
export interface Catalogue {
  /** The address that was asked. */
  url: string;
  /** Epoch ms. */
  listedAt: number;
  /** How long the server says that the list stays valid; absent: it does not say. */
  ttlMs?: number;
  /** What `server/discover` answered, for a later connection without a handshake; absent: a server before 2026-07-28. */
  discovered?: unknown;
  tools: RemoteTool[];
  /** Number of tools that were left out. */
  omitted: number;
}

/** A tool that a run may call. */
export interface OfferedTool {
  /** `{server}__{tool}`, with the schema as providers accept it. */
  definition: ToolDefinition;
  server: string;
  tool: RemoteTool;
  isWrapped: boolean;
  class: ServerClass;
}

const catalogueKey = (server: string): Key => ({ pk: mcpPartition, sk: `C#${server}` });

/** A catalogue within the limits of an item. */
export function fitCatalogue(catalogue: Catalogue): Catalogue {
  const tools: RemoteTool[] = [];
  let bytes = JSON.stringify({ ...catalogue, tools: [] }).length;
  for (const tool of catalogue.tools.slice(0, maxTools)) {
    bytes += Buffer.byteLength(JSON.stringify(tool)) + 1;
    if (bytes > maxBytes) break;
    tools.push(tool);
  }
  return { ...catalogue, tools, omitted: catalogue.tools.length - tools.length };
}

/** Stores what a server offers, unless a later list is stored. */
export async function putCatalogue(table: Table, server: string, catalogue: Catalogue): Promise<void> {
  await table.put({ ...catalogueKey(server), catalogue: JSON.stringify(catalogue) });
}

export async function deleteCatalogue(table: Table, server: string): Promise<void> {
  await table.delete(catalogueKey(server));
}

/** The catalogues among the items of `mcpPartition`, by server. Only those of the addresses that are configured now. */
export function cataloguesIn(
  items: readonly Item[],
  { mcp }: Pick<Configuration, "mcp">,
): Map<string, Catalogue> {
  return new Map(
    items.flatMap(({ sk, catalogue }) => {
      const server = String(sk).slice(2);
      if (typeof catalogue !== "string" || !Object.hasOwn(mcp.servers, server)) return [];
      const read = JSON.parse(catalogue) as Catalogue;
      return read.url === mcp.servers[server]?.url ? [[server, read] as const] : [];
    }),
  );
}

/** The servers that are configured and not switched off, by name, in a fixed order. */
export function activeServers({ mcp }: Pick<Configuration, "mcp">): [string, McpServer][] {
  return Object.entries(mcp.servers)
    .filter(([, { enabled }]) => enabled !== false)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The tools of all servers that the settings allow, in a fixed order: by server, then by tool. */
export function offeredTools(
  configuration: Pick<Configuration, "mcp">,
  catalogues: ReadonlyMap<string, Catalogue>,
): OfferedTool[] {
  const all = activeServers(configuration).flatMap(([server, settings]) =>
    [...(catalogues.get(server)?.tools ?? [])]
      .filter(({ name }) => isAllowed(settings, name))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((tool) => toOffered(server, settings, tool)),
  );
  return [...new Map(all.map((one) => [one.definition.name, one])).values()];
}

function toOffered(server: string, settings: McpServer, tool: RemoteTool): OfferedTool {
  const { schema, isWrapped } = offerSchema(tool.inputSchema);
  const description = (tool.description ?? "").slice(0, maxDescription).toWellFormed();
  return {
    definition: { name: mcpToolName(server, tool.name), description, inputSchema: schema },
    ...{ server, tool, isWrapped, class: classOfTool(settings, tool) },
  };
}

function isAllowed({ tools: { allow = ["*"], deny = [] } = {} }: McpServer, name: string): boolean {
  const isIn = (patterns: readonly string[]) => patterns.some((pattern) => matchesPattern(pattern, name));
  return isIn(allow) && !isIn(deny);
}

/** The class of a server's tools, raised by the tool's own annotations: a server may only say that a tool does more. */
function classOfTool({ class: least = "message" }: McpServer, { annotations = {} }: RemoteTool): ServerClass {
  const said: ServerClass[] = [
    ...(annotations.openWorldHint === true ? (["web"] as const) : []),
    ...(annotations.readOnlyHint === false ? (["write"] as const) : []),
    ...(annotations.destructiveHint === true ? (["exec"] as const) : []),
  ];
  return serverClasses[Math.max(...[least, ...said].map((one) => serverClasses.indexOf(one)))] ?? least;
}

/** Whether a tool is the same as another: its schema, its description and its annotations, whatever their order. */
export function isSameTool(a: RemoteTool, b: RemoteTool): boolean {
  return sorted(a) === sorted(b);
}

function sorted({ name, description, inputSchema, annotations }: RemoteTool): string {
  return JSON.stringify({ name, description, inputSchema, annotations }, (_key, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([x], [y]) => (x < y ? -1 : 1)))
      : value,
  );
}
