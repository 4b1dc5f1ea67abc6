import type { ChatRequest } from "./chat-request.ts";

/** The tools a request offers, by who runs them. */
export interface Tools {
  /** Tool names by node id, in the order they are offered. */
  nodes: Map<string, Set<string>>;
  /** Names of the gateway's own tools, with their prefix. */
  native: Set<string>;
}

/** The tools that run on nodes and that the rules use. */
export type NodeToolName = "Glob" | "Read" | "Grep" | "Bash";

/** The prefix of the gateway's own tools. */
const gateway = "gsv";

/** Sorts `{nodeId}__{tool}` and `gsv__{tool}`; a name without an owner is left out. */
export function readTools(offered: ChatRequest["tools"]): Tools {
  const tools: Tools = { nodes: new Map(), native: new Set() };
  for (const { function: tool } of offered ?? []) {
    const border = tool.name.lastIndexOf("__");
    if (border <= 0) continue;
    const owner = tool.name.slice(0, border);
    if (owner === gateway) tools.native.add(tool.name);
    else {
      const ofNode = tools.nodes.get(owner) ?? new Set();
      tools.nodes.set(owner, ofNode.add(tool.name.slice(border + 2)));
    }
  }
  return tools;
}

/** The node id that a spoken name means, whatever its case and punctuation. */
export function nodeNamed(name: string, nodes: Iterable<string>): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_");
  return [...nodes].find((node) => plain(node) === plain(name));
}

export type Choice = { nodes: string[]; note?: string } | { missing: string };

/**
 * The nodes that a request goes to: those that were named, else the first that has the tool, with a note when there are
 * others. `missing` says in words what is not there and how to get it.
 */
export function chooseNodes(tool: NodeToolName, named: readonly string[] | "all", tools: Tools): Choice {
  const able = [...tools.nodes].filter(([, has]) => has.has(tool)).map(([node]) => node);
  const connected = [...tools.nodes.keys()];
  if (connected.length === 0) return { missing: noNode(tool) };
  if (named === "all" || named.length === 0) {
    const [first, ...others] = able;
    if (first === undefined) return { missing: withoutTool(connected, tool) };
    if (named === "all" || others.length === 0) return { nodes: able };
    return {
      nodes: [first],
      note: `(on ${first}; to ask another node, say “on ${others.join("” or “on ")}”)`,
    };
  }
  const unknown = named.find((name) => nodeNamed(name, connected) === undefined);
  if (unknown !== undefined) return { missing: notConnected(unknown, connected) };
  const chosen = named.flatMap((name) => nodeNamed(name, connected) ?? []);
  const unable = chosen.filter((node) => !able.includes(node));
  return unable.length > 0 ? { missing: withoutTool(unable, tool) } : { nodes: chosen };
}

function noNode(tool: NodeToolName): string {
  return `I need a machine for that: a connected node with the tool ${tool}. No node is connected. Start one with \`gsv node\` on the machine I should work on.`;
}

function notConnected(name: string, connected: string[]): string {
  return `No node named ${name} is connected; connected: ${connected.join(", ")}. Start one with \`gsv node\` on that machine.`;
}

function withoutTool(nodes: string[], tool: NodeToolName): string {
  const have = nodes.length > 1 ? "are connected but do" : "is connected but does";
  return `${nodes.join(", ")} ${have} not offer the tool ${tool}. Start a node that does with \`gsv node\`.`;
}
