import * as v from "valibot";
import { endFacts, tailChars } from "../shell/session-report.ts";
import type { ShellSession } from "../shell/shell.ts";
import { tailOf } from "../truncate.ts";
import { choice, content, integerBetween, integerFrom, text } from "./arguments.ts";
import { nodeTool, type ToolResult } from "./node-tool.ts";

const defaultLines = 200;
const maxLines = 10_000;

/** Manages background sessions; docs/reference/protocol.md, "Tools", Process. */
export const processTool = nodeTool({
  name: "Process",
  description:
    "Manage commands that Bash left in the background, until 30 minutes after their end. list: all. poll: status and " +
    "new output. log: lines of the kept output, by default the last 200. write: send data to the input " +
    "as it is. submit: the same with a line feed. kill: end the command and all it started.",
  capability: "shell.exec",
  arguments: {
    action: choice(["list", "poll", "log", "write", "submit", "kill"]),
    sessionId: v.optional(text("For all but list")),
    data: v.optional(content()),
    offset: v.optional(integerFrom(0, "log: first line, from 0")),
    limit: v.optional(integerBetween(1, maxLines, "log: number of lines")),
  },
  async run(args, context) {
    const { action } = args;
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
    const sessionId = given("sessionId", "a non-empty string", args.sessionId);
    const session = context.sessions.get(sessionId);
    if (session === undefined)
      throw new Error(`Process: no session ${sessionId}; action list shows the sessions`);
    switch (action) {
      case "poll":
        return poll(session);
      case "log":
        return logLines(session, args.offset, args.limit ?? defaultLines);
      case "write":
        return send(session, given("data", "a string", args.data));
      case "submit":
        return send(session, `${args.data ?? ""}\n`);
      case "kill":
        await session.kill();
        return { ...summary(session), tail: tailOf(session.output.text, tailChars) };
    }
  },
});

/** Returns a required argument. @throws Error when it is absent */
function given(name: string, expected: string, value: string | undefined): string {
  if (value === undefined) throw new Error(`Process: ${name} must be ${expected}`);
  return value;
}

function summary(session: ShellSession): Record<string, unknown> {
  const { sessionId, status, startedAt } = session;
  return { sessionId, status, startedAt, ...endFacts(session) };
}

function poll(session: ShellSession): ToolResult {
  const { text, missed } = session.output.readNew();
  return { ...summary(session), output: text, truncated: missed };
}

/** Returns lines of the stored output. `truncated`: earlier output was dropped. */
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
