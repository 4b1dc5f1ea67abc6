import type { ToolDefinition } from "../../../shared/protocol/messages.ts";
import type { Capability } from "../../../shared/protocol/schemas.ts";
import type { FileQueues } from "../files/files.ts";
import type { ShellSessions } from "../shell/shell-sessions.ts";

/** What a tool may use. */
export interface ToolContext {
  /** Absolute path of the folder that relative paths start from. */
  workspace: string;
  sessions: ShellSessions;
  files: FileQueues;
  callId: string;
}

/** A string is given to the model as it is, an object as JSON, `{content: [blocks]}` as text and images. */
export type ToolResult = string | Record<string, unknown>;

/** A tool of this node. `run` throws an Error whose message is meant for the model. */
export interface NodeTool {
  definition: ToolDefinition;
  capabilities: Capability[];
  run(args: unknown, context: ToolContext): Promise<ToolResult>;
}
