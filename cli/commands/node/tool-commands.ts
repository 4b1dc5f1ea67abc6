import type { ToolDefinition } from "../../../shared/protocol/messages.ts";
import { columns, shorten } from "../../app/columns.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { didYouMean } from "../../app/suggestion.ts";
import { toolResultText } from "../../chat/tool-result.ts";

/** A node's default command timeout of 5 minutes, plus 10 seconds for the transfer. */
const toolTimeoutMs = 310_000;

export const listTools: Action = async (context) => {
  const gateway = await context.gateway();
  const answer = await gateway.request("tools.list");
  const rows = answer.tools.map((tool) => [tool.name, shorten(firstSentence(tool.description), 90)]);
  context.print(answer, rows.length > 0 ? columns(["TOOL", "WHAT IT DOES"], rows) : "no tools");
};

export const callTool: Action = async (context, { args, options }) => {
  const [name = "", ...given] = args;
  if (typeof options.args === "string" && given.length > 0)
    throw usage("give the arguments as name=value or with --args, not both");
  // Argument names never begin with a brace, so a single word that does is the JSON of all arguments.
  const json =
    text(options.args) ?? (given.length === 1 && /^\s*\{/.test(given[0] ?? "") ? given[0] : undefined);
  const gateway = await context.gateway();
  const { tools } = await gateway.request("tools.list");
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) {
    const meant = didYouMean(
      name,
      tools.map((known) => known.name),
    );
    throw new Failure(404, `there is no tool ${name}${meant}; \`gsv tools list\` shows all tools`);
  }
  const parsed = json === undefined ? argumentsOf(given, tool) : parseArguments(json);
  const answer = await gateway.request("tool.invoke", { tool: name, args: parsed }, toolTimeoutMs);
  context.printExactly(answer, toolResultText(answer.result));
};

function parseArguments(json: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw usage(`the arguments are not JSON: ${(error as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw usage('the arguments must be a JSON object, for example {"path":"."}');
  return value as Record<string, unknown>;
}

/**
 * Parses `name=value` pairs by the tool's schema: string arguments remain text; others are parsed as JSON when
 * valid.
 */
function argumentsOf(pairs: string[], tool: ToolDefinition): Record<string, unknown> {
  const properties = tool.inputSchema.properties as Record<string, { type?: unknown }> | undefined;
  const entries = pairs.map((pair): [string, unknown] => {
    const at = pair.indexOf("=");
    if (at < 1) throw usage(`"${pair}" is not name=value; arguments of ${tool.name}: ${argumentNames(tool)}`);
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    return [name, properties?.[name]?.type === "string" ? value : jsonOrText(value)];
  });
  return Object.fromEntries(entries);
}

function argumentNames(tool: ToolDefinition): string {
  const { properties } = tool.inputSchema;
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  return names.join(", ") || "none";
}

function jsonOrText(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function firstSentence(description: string): string {
  return description.split(/(?<=\.)\s/)[0] ?? "";
}
