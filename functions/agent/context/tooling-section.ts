import type { ToolDefinition } from "../../../shared/protocol/messages.ts";
import { head } from "../../../shared/workspace/budget.ts";

/** The model gets each tool's whole definition beside the prompt; here a line is enough. */
const maxDescription = 160;

/** The section "Tooling": one line a tool, native tools first, then node by node. Empty without tools. */
export function toolingSection(tools: ToolDefinition[]): string {
  if (tools.length === 0) return "";
  const groups = new Map<string, string[]>([["gsv", []]]);
  for (const { name, description } of tools) {
    const owner = name.split("__", 1)[0] ?? name;
    const lines = groups.get(owner) ?? [];
    lines.push(`- ${name}${summary(description)}`);
    groups.set(owner, lines);
  }
  const texts: string[] = ["## Tooling"];
  for (const [owner, lines] of groups) {
    if (lines.length === 0) continue;
    texts.push(owner === "gsv" ? "### Native" : `### Machine ${owner}`, lines.join("\n"));
  }
  return texts.join("\n\n");
}

function summary(description: string): string {
  const line = description.trim().split("\n", 1)[0] ?? "";
  if (line === "") return "";
  return line.length <= maxDescription ? `: ${line}` : `: ${head(line, maxDescription)}…`;
}
