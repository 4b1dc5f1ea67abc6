import type { ToolDefinition } from "../../../shared/protocol/messages.ts";
import { endFacts, tailChars } from "../shell/session-report.ts";
import type { ShellSession } from "../shell/shell.ts";
import { tailOf } from "../text.ts";
import { ToolArguments } from "./arguments.ts";
import type { ToolContext, ToolResult } from "./node-tool.ts";

const actions = ["list", "poll", "log", "write", "submit", "kill"] as const;
const defaultLines = 200;
const mostLines = 10_000;

export const definition: ToolDefinition = {
  name: "Process",
  description:
    "Look after commands that Bash left running in the background; they can be asked about for 30 minutes after their " +
    "end. list: every session. poll: status, and the output since the last poll. log: lines of the output kept, by " +
    "default the last 200. write: send data to the command's input as it is. submit: the same with a line feed at the " +
    "end. kill: end the command and everything it started.",
  inputSchema: {
    type: "object",
    properties: {
      action: { type: "string", enum: [...actions] },
      sessionId: { type: "string", description: "Needed by every action but list." },
      data: { type: "string", description: "For write and submit." },
      offset: { type: "integer", minimum: 0, description: "For log: the first line, counted from 0." },
      limit: {
        type: "integer",
        minimum: 1,
        maximum: mostLines,
        description: "For log: lines. Default: 200.",
      },
    },
    required: ["action"],
  },
};

/** Looks after background sessions; docs/protocol.md, "Tools", Process. */
export async function run(args: unknown, context: ToolContext): Promise<ToolResult> {
  const given = new ToolArguments("Process", args);
  const action = given.choice("action", actions);
  if (action === "list") {
    const sessions = context.sessions.list().map((session) => ({
      ...summary(session),
      command: session.command,
      pid: session.pid,
      workdir: session.workdir,
      tail: tailOf(session.output.text, 200),
    }));
    return { sessions, count: sessions.length };
  }
  const sessionId = given.text("sessionId");
  const session = context.sessions.get(sessionId);
  if (session === undefined)
    throw new Error(`Process: no session ${sessionId}; action list shows the sessions`);
  switch (action) {
    case "poll":
      return poll(session);
    case "log":
      return logLines(
        session,
        given.optionalInteger("offset", 0, Number.MAX_SAFE_INTEGER),
        given.optionalInteger("limit", 1, mostLines) ?? defaultLines,
      );
    case "write":
      return send(session, given.content("data"));
    case "submit":
      return send(session, `${given.optionalText("data") ?? ""}\n`);
    case "kill":
      await session.kill();
      return { ...summary(session), tail: tailOf(session.output.text, tailChars) };
  }
}

function summary(session: ShellSession): Record<string, unknown> {
  const { sessionId, status, startedAt } = session;
  return { sessionId, status, startedAt, ...endFacts(session) };
}

function poll(session: ShellSession): ToolResult {
  const { text, missed } = session.output.readNew();
  return { ...summary(session), output: text, truncated: missed };
}

/** Lines are counted in the output that is kept; `truncated` says that there was more before it. */
function logLines(session: ShellSession, offset: number | undefined, limit: number): ToolResult {
  const lines = session.output.text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const start = offset ?? Math.max(0, lines.length - limit);
  const shown = lines.slice(start, start + limit);
  return {
    ...summary(session),
    output: shown.join("\n"),
    offset: start,
    lines: shown.length,
    totalLines: lines.length,
    truncated: session.output.truncated,
  };
}

async function send(session: ShellSession, data: string): Promise<ToolResult> {
  await session.write(data);
  return { sessionId: session.sessionId, status: session.status, bytes: Buffer.byteLength(data) };
}
