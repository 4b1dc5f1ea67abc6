import { createHash } from "node:crypto";

/** Model providers accept tool names of at most this many characters, from `[A-Za-z0-9_-]`. */
const maxToolName = 64;

/** Digits of a hash that end a changed name: 48 bits prevent collisions among the tools of one gateway. */
const hashDigits = 12;

/**
 * `{server}__{tool}`: the name by which models call a tool of an MCP server. A tool's name that providers refuse, or that is too
 * long, is changed and ends with a hash, so that different tools keep different names. The same input always gives the same name.
 * @param server up to 24 characters of `[a-z0-9-]`
 * @param max for names that get a prefix later, such as a node's
 */
export function mcpToolName(server: string, tool: string, max = maxToolName): string {
  const plain = `${server}__${tool.replaceAll(/[^A-Za-z0-9_-]/g, "_")}`;
  if (plain.length <= max && plain.endsWith(`__${tool}`)) return plain;
  const digits = createHash("sha256").update(tool).digest("hex").slice(0, hashDigits);
  return `${plain.slice(0, max - hashDigits - 1)}-${digits}`;
}
