/** The result of a tool call in MCP. */
export type ToolResult = {
  content: ({ type: "text"; text: string } | { type: "image"; data: string; mimeType: string })[];
  structuredContent?: Record<string, unknown>;
  isError?: true;
};

/** Max characters of a text: clients put it into a model's context. */
const maxText = 200_000;

export function textResult(text: string, structuredContent?: Record<string, unknown>): ToolResult {
  const shown = text.length > maxText ? `${text.slice(0, maxText).toWellFormed()}\n[cut here]` : text;
  return { content: [{ type: "text", text: shown }], ...(structuredContent ? { structuredContent } : {}) };
}

export function jsonResult(value: object): ToolResult {
  return textResult(JSON.stringify(value, undefined, 1));
}

export function errorResult(message: string): ToolResult {
  return { ...textResult(message), isError: true };
}

/** The result of a node's tool: blocks of text and images as they are, anything else as JSON. */
export function nodeResult(result: unknown): ToolResult {
  if (typeof result === "string") return textResult(result);
  const content = (result as { content?: unknown } | null)?.content;
  if (Array.isArray(content) && content.length > 0 && content.every(isBlock)) return { content };
  return textResult(JSON.stringify(result, undefined, 1) ?? "");
}

function isBlock(block: unknown): block is ToolResult["content"][number] {
  const { type, text, data, mimeType } = (block ?? {}) as Record<string, unknown>;
  if (type === "text") return typeof text === "string";
  return type === "image" && typeof data === "string" && typeof mimeType === "string";
}
