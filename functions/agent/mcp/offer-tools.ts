import * as v from "valibot";
import { durationMs } from "../../../shared/configuration/duration.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { OfferedTool } from "../../../shared/mcp/catalogue.ts";
import { unwrapArguments } from "../../../shared/mcp/tool-arguments.ts";
import { nodeTools } from "../../../shared/peers/nodes.ts";
import type { PeerRecord } from "../../../shared/peers/registry.ts";
import {
  type AssistantMessage,
  type ToolDefinition,
  toolCallsOf,
} from "../../../shared/protocol/messages.ts";
import type { Outcomes } from "../../../shared/session/calls.ts";
import { mayUse } from "../tools/agent-rights.ts";
import { type NativeTool, nativeTool } from "../tools/native/native-tool.ts";

/** The longest task, and the longest call without one. */
const maxTaskMs = 86_400_000;
const maxCallMs = 300_000;

/** More tools of servers than these are not described to the model, but found by `gsv__ToolSearch`. */
const maxDescribed = 40;

/** Tools that one search finds. */
const maxFound = 8;

/** The tools of servers that a run may call. */
interface OfferedRemote {
  /** By the name that the model uses. */
  tools: ReadonlyMap<string, NativeTool>;
  /** Those that are described to the model, in the order of the request. */
  described: readonly NativeTool[];
}

/**
 * The tools of servers for a run that may use them. Above `maxDescribed` the model sees `gsv__ToolSearch` and the tools that
 * it has found, in the order of finding: so a search only adds to the end of the list, and nothing else changes it.
 * @param taken names of tools of the gateway and of nodes
 * @param found the tools that this conversation has found
 */
export function offerRemote(
  offered: readonly OfferedTool[],
  taken: (name: string) => boolean,
  found: readonly string[],
  configuration: Configuration,
  agentId: string,
): OfferedRemote {
  const allowed = offered.filter(
    ({ definition: { name } }) => !taken(name) && mayUse(configuration, agentId, name),
  );
  const tools = new Map(
    allowed.map((tool) => [tool.definition.name, toNativeTool(tool, configuration)] as const),
  );
  if (tools.size <= maxDescribed) return { tools, described: [...tools.values()] };
  const search = toolSearch([...tools.values()].map(({ definition }) => definition));
  const foundTools = found.flatMap((name) => tools.get(name) ?? []);
  return { tools: new Map([[searchName, search], ...tools]), described: [search, ...foundTools] };
}

const searchName = "gsv__ToolSearch";

/** Searches the names and descriptions of tools. The next request offers what it has found. */
function toolSearch(all: readonly ToolDefinition[]): NativeTool {
  return nativeTool({
    name: searchName,
    description:
      "Find tools of connected servers by words of what they do. You can call what it finds from the next step on.",
    arguments: { query: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(400)) },
    repeatable: true,
    forGuests: false,
    async run({ query }) {
      const found = bestMatches(all, query);
      if (found.length === 0)
        return { ok: true, result: { tools: [], hint: `No tool matches; there are ${all.length}.` } };
      return { ok: true, result: { tools: found.map(({ name, description }) => ({ name, description })) } };
    },
  });
}

/** The tools with the most words of a query, those with words in their names first. */
function bestMatches(all: readonly ToolDefinition[], query: string): ToolDefinition[] {
  const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])];
  const scored = all.map((tool) => {
    const name = tool.name.toLowerCase();
    const description = tool.description.toLowerCase();
    const points = words.map((word) => (name.includes(word) ? 3 : description.includes(word) ? 1 : 0));
    return { tool, score: points.reduce<number>((sum, one) => sum + one, 0) };
  });
  const matching = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
  return matching.slice(0, maxFound).map(({ tool }) => tool);
}

/** The tools that a conversation has found, after the results of a reply's searches. The oldest give way to newer ones. */
export function foundAfter(
  before: readonly string[],
  reply: AssistantMessage,
  outcomes: Outcomes,
): readonly string[] {
  const found = toolCallsOf(reply).flatMap(({ id, name }) => {
    const outcome = name === searchName ? outcomes.get(id) : undefined;
    const result = typeof outcome === "object" ? v.safeParse(searchResult, outcome.result) : undefined;
    return result?.success ? result.output.result.tools.map((tool) => tool.name) : [];
  });
  const added = [...new Set(found)].filter((name) => !before.includes(name));
  return added.length === 0 ? before : [...before, ...added].slice(-maxDescribed);
}

const searchResult = v.object({ result: v.object({ tools: v.array(v.object({ name: v.string() })) }) });

/** A server's tool as a run calls it. It is never offered to guests. */
function toNativeTool(offered: OfferedTool, { mcp }: Configuration): NativeTool {
  const { server, tool, definition, isWrapped } = offered;
  const { annotations = {} } = tool;
  const settings = mcp.servers[server];
  const said = settings?.tools?.deadlines?.[tool.name] ?? settings?.deadline;
  const limit = said === undefined ? maxTaskMs : Math.max(1000, durationMs(said));
  const repeatable = annotations.readOnlyHint === true || annotations.idempotentHint === true;
  return {
    ...{ definition, schema: v.looseObject({}), repeatable, forGuests: false, remoteClass: offered.class },
    run: async (args: Record<string, unknown>) => ({
      remote: {
        ...{ tool: offered, repeatable, args: unwrapArguments(isWrapped, args) },
        ...{ deadlineMs: Math.min(maxTaskMs, limit), timeoutMs: Math.min(maxCallMs, limit) },
      },
    }),
  };
}

/** The tools that a run may call, and those that the model sees: of the gateway, of nodes and of MCP servers, in this order. */
export function toolsOf(
  configuration: Configuration,
  agentId: string,
  own: ReadonlyMap<string, NativeTool>,
  kept: PeerRecord[],
  { ofServers, found }: { ofServers: readonly OfferedTool[]; found: readonly string[] },
) {
  const offered = new Map([...nodeTools(kept)].filter(([name]) => mayUse(configuration, agentId, name)));
  const isTaken = (name: string) => own.has(name) || offered.has(name);
  const remote = offerRemote(ofServers, isTaken, found, configuration, agentId);
  const shown = [...own.values()].filter(({ isHidden }) => !isHidden);
  return {
    native: new Map([...own, ...remote.tools]),
    offered,
    tools: [...shown, ...offered.values(), ...remote.described].map((tool) => tool.definition),
  };
}
