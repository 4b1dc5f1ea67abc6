/** A tool as MCP lists it. */
export interface ListedTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: { type: "object"; [field: string]: unknown };
  annotations?: { readOnlyHint?: boolean; openWorldHint?: boolean };
}

const text = (description: string, maxLength: number) => ({ type: "string", description, maxLength });
const limit = { type: "integer", minimum: 1, maximum: 100, description: "Default: 20" };

const objectOf = (properties: object, required: string[] = []) => ({
  type: "object" as const,
  properties,
  required,
  additionalProperties: false,
});

/** The gateway's own tools. Those of connected nodes follow them. */
export const ownTools = [
  {
    name: "ask",
    title: "Ask the agent",
    description:
      "Ask the user's personal agent, which has a memory, conversations and tools of its own. Returns its answer. If it works " +
      "longer than this call waits, the result says so: call again with the same id and message to get the answer.",
    inputSchema: objectOf(
      {
        message: text("What to ask or to do", 90_000),
        session: text("Name of the conversation, to which later calls can return. Default: default", 64),
        id: text("Your own id of this request. The same id is never carried out twice", 200),
      },
      ["message"],
    ),
    annotations: { openWorldHint: true },
  },
  {
    name: "sessions",
    title: "List conversations",
    description: "List the agent's conversations, newest first.",
    inputSchema: objectOf({ limit }),
    annotations: { readOnlyHint: true },
  },
  {
    name: "search",
    title: "Search conversations",
    description: "Search what was said in the agent's conversations, also long ago.",
    inputSchema: objectOf({ query: text("Words or a question", 2000), limit }, ["query"]),
    annotations: { readOnlyHint: true },
  },
  {
    name: "memory",
    title: "Search memories",
    description: "List or search what the agent remembers about its user.",
    inputSchema: objectOf({ query: text("Words to search for. Default: all, newest first", 2000), limit }),
    annotations: { readOnlyHint: true },
  },
] as const satisfies ListedTool[];

export type OwnTool = (typeof ownTools)[number]["name"];
