import type { ChatRequest } from "../openai-wire/chat-request.ts";

/** The tools that a request offers. */
export interface Tools {
  /** Tool names by node id, in the order in which they are offered. */
  nodes: Map<string, Set<string>>;
  /** Names of the gateway's own tools, with their prefix. */
  native: Set<string>;
}

/** Sorts `{nodeId}__{tool}` and `gsv__{tool}`; a name of another form is left out. */
export function readTools(offered: ChatRequest["tools"]): Tools {
  const tools: Tools = { nodes: new Map(), native: new Set() };
  for (const { function: tool } of offered ?? []) {
    const border = tool.name.lastIndexOf("__");
    if (border <= 0) continue;
    const owner = tool.name.slice(0, border);
    if (owner === "gsv") tools.native.add(tool.name);
    else tools.nodes.set(owner, (tools.nodes.get(owner) ?? new Set()).add(tool.name.slice(border + 2)));
  }
  return tools;
}
