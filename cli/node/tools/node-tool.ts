import type * as v from "valibot";
import type { ToolDefinition } from "../../../shared/protocol/messages.ts";
import type { Capability } from "../../../shared/protocol/schemas.ts";
import { inputSchemaOf } from "../../../shared/protocol/tool-schema.ts";
import type { FileQueues } from "../files/node-files.ts";
import type { ShellSessions } from "../shell/shell-sessions.ts";
import { type ArgumentValues, readArguments } from "./arguments.ts";

/** The resources that a tool's run may use. */
export interface ToolContext {
  /** Absolute path of the base folder of relative paths. */
  workspace: string;
  sessions: ShellSessions;
  files: FileQueues;
  callId: string;
  /** Aborts when the result is no longer needed: the tool must stop the processes it started. */
  signal: AbortSignal;
}

/** The model receives a string unchanged, an object as JSON, and `{content: [blocks]}` as text and images. */
export type ToolResult = string | Record<string, unknown>;

/** A tool of this node. `run` throws an Error whose message is sent to the model. */
export interface NodeTool {
  definition: ToolDefinition;
  capabilities: Capability[];
  run(args: unknown, context: ToolContext): Promise<ToolResult>;
}

/** Creates a tool. The schemas of its arguments both validate them and describe them to the model. */
export function nodeTool<E extends v.ObjectEntries>(tool: {
  name: string;
  description: string;
  capability: Capability;
  arguments: E;
  run(args: ArgumentValues<E>, context: ToolContext): Promise<ToolResult>;
}): NodeTool {
  const { name, description, capability, arguments: entries } = tool;
  return {
    definition: { name, description, inputSchema: inputSchemaOf(entries) },
    capabilities: [capability],
    run: async (args, context) => tool.run(readArguments(name, entries, args), context),
  };
}
