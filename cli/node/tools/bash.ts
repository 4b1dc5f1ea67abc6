import { stat } from "node:fs/promises";
import type { ToolDefinition } from "../../../shared/protocol/messages.ts";
import { endOrDelay } from "../delay.ts";
import { resolvePath } from "../files/file-paths.ts";
import { explainFaults } from "../files/files.ts";
import { endedReport, runningReport } from "../shell/session-report.ts";
import { ToolArguments } from "./arguments.ts";
import type { ToolContext, ToolResult } from "./node-tool.ts";

const defaultTimeoutMs = 300_000;
/** The longest a Node timer can wait, about 24 days. */
const longestTimeoutMs = 2 ** 31 - 1;

export const definition: ToolDefinition = {
  name: "Bash",
  description:
    "Run a command in a login shell on this machine. Returns its status, exit code and output (standard output and " +
    "standard error together, the last 200,000 characters). Standard input is empty. The command and everything it " +
    "started are ended at the timeout. For a command that may take longer than a minute, or a server, set background " +
    "or yieldMs: the answer then carries a sessionId to be used with Process.",
  inputSchema: {
    type: "object",
    properties: {
      command: { type: "string", minLength: 1, description: "The command line to run." },
      workdir: {
        type: "string",
        description: "Folder to run it in: absolute, or relative to the workspace. Default: the workspace.",
      },
      timeout: {
        type: "integer",
        minimum: 1,
        maximum: longestTimeoutMs,
        description: "Milliseconds until the command is ended, in the background too. Default: 300000.",
      },
      background: { type: "boolean", description: "Answer at once and leave the command running." },
      yieldMs: {
        type: "integer",
        minimum: 10,
        maximum: 120_000,
        description:
          "Wait this many milliseconds; a command that is not over by then goes on in the background.",
      },
    },
    required: ["command"],
  },
};

/** Runs a command; docs/protocol.md, "Tools", Bash. A command that fails is a result, not an error. */
export async function run(args: unknown, context: ToolContext): Promise<ToolResult> {
  const given = new ToolArguments("Bash", args);
  const command = given.text("command");
  const workdir = resolvePath(context.workspace, given.optionalText("workdir") ?? ".");
  const timeoutMs = given.optionalInteger("timeout", 1, longestTimeoutMs) ?? defaultTimeoutMs;
  const background = given.flag("background");
  const yieldMs = given.optionalInteger("yieldMs", 10, 120_000);

  const folder = await explainFaults("Bash", workdir, () => stat(workdir));
  if (!folder.isDirectory()) throw new Error(`Bash: ${workdir} is not a folder`);
  const interactive = background || yieldMs !== undefined;
  const session = await context.sessions.start({ command, workdir, timeoutMs, interactive });
  if (!interactive) await session.ended;
  else if (!background) await endOrDelay(session.ended, yieldMs ?? 0);
  if (session.status !== "running") return endedReport(session);
  context.sessions.keep(session, context.callId);
  return runningReport(session);
}
