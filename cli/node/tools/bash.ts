import { stat } from "node:fs/promises";
import * as v from "valibot";
import { resolvePath } from "../files/file-paths.ts";
import { explainFaults } from "../files/node-files.ts";
import { raceWithTimeout } from "../race-with-timeout.ts";
import { endedReport, runningReport } from "../shell/session-report.ts";
import type { ShellSession } from "../shell/shell.ts";
import { flag, integerBetween, text } from "./arguments.ts";
import { nodeTool } from "./node-tool.ts";

const defaultTimeoutMs = 300_000;
/** Max delay of a Node.js timer, about 24 days. */
const longestTimeoutMs = 2 ** 31 - 1;

/** Runs a command; docs/reference/protocol.md, "Tools", Bash. A command that fails is a result, not an error. */
export const bashTool = nodeTool({
  name: "Bash",
  description:
    "Run a command in a login shell on this machine. Returns stdout and stderr together, the last 200,000 " +
    "characters. Standard input is empty. The timeout ends the command and all it started. For a server, or longer than " +
    "a minute, set background or yieldMs: the answer has a sessionId for Process.",
  capability: "shell.exec",
  arguments: {
    command: text(),
    workdir: v.optional(text("Absolute, or relative to the workspace. Default: the workspace")),
    timeout: v.optional(integerBetween(1, longestTimeoutMs, "Also in the background. Default: 300000 ms")),
    background: flag("Answer at once; the command goes on"),
    yieldMs: v.optional(integerBetween(10, 120_000, "Goes on in the background after this time")),
  },
  async run(args, context) {
    const { command, timeout: timeoutMs = defaultTimeoutMs, background = false, yieldMs } = args;
    const workdir = resolvePath(context.workspace, args.workdir ?? ".");

    const folder = await explainFaults("Bash", workdir, () => stat(workdir));
    if (!folder.isDirectory()) throw new Error(`Bash: ${workdir} is not a folder`);
    const interactive = background || yieldMs !== undefined;
    const session = await context.sessions.start({ command, workdir, timeoutMs, interactive });
    await killedOnAbort(session, context.signal, async () => {
      if (!interactive) await session.ended;
      else if (!background) await raceWithTimeout(session.ended, yieldMs ?? 0);
    });
    if (session.status !== "running") return endedReport(session);
    context.sessions.keep(session, context.callId);
    return runningReport(session);
  },
});

/** Waits for a command and kills it when the call is cancelled meanwhile. A command that runs on after the wait is not killed. */
async function killedOnAbort(
  session: ShellSession,
  signal: AbortSignal,
  wait: () => Promise<void>,
): Promise<void> {
  let killed: Promise<void> | undefined;
  const kill = (): void => {
    killed ??= session.kill();
  };
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  await wait();
  signal.removeEventListener("abort", kill);
  await killed;
}
