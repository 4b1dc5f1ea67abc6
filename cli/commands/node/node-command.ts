import { join, resolve } from "node:path";
import { commandResult } from "../../../shared/session/result-message.ts";
import { configFolder } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { version } from "../../app/installation.ts";
import { type Invocation, text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { toolLine } from "../../chat/tool-line.ts";
import { startUnderFreeId } from "../../node/free-id.ts";
import { type NodeOptions, type RunningNode, startNode } from "../../node/node-runtime.ts";
import type { CallChange } from "../../node/running-calls.ts";
import { type LogLine, runUntilSignal } from "../daemon/unattended.ts";
import { mcpFileOf, nodePlace } from "./node-settings.ts";

export const node: Action = (context, { options }) =>
  runUntilSignal(context, options, (log, signalled) => runNode(context, options, log, signalled));

async function runNode(
  context: Context,
  options: Invocation["options"],
  log: LogLine | undefined,
  signalled: Promise<unknown>,
): Promise<void> {
  const settings = await context.settings();
  const { url, token } = await context.address();
  const { nodeId, workspace } = nodePlace(context, settings, options);
  const handlers = log === undefined ? terminalHandlers(context) : { onLog: log };
  const journalFolder = join(configFolder(context.terminal.env), "node");
  const waitsForPlace = log !== undefined;
  const chosen = text(options.mcp);
  const mcpFile = chosen ? resolve(context.terminal.cwd, chosen) : mcpFileOf(context.terminal.env);
  const node = { url, token, nodeId, workspace, version, journalFolder, mcpFile, waitsForPlace, ...handlers };
  const running =
    text(options.id) || log
      ? { ...startNode(node), nodeId }
      : await startUnderFreeId(node, (taken, next) => context.note(idTaken(taken, next)), signalled);
  await untilEnded(context, running, { workspace, url }, signalled);
}

/** The output of a node in the foreground: its calls on a terminal, its log lines elsewhere. */
function terminalHandlers(context: Context): Pick<NodeOptions, "onLog" | "onCall"> {
  if (!context.terminal.stderr.isTTY) return { onLog: (line) => context.note(line) };
  return {
    onLog: (line, isOfCall) => {
      if (!isOfCall) context.note(line);
    },
    onCall: callLines((line) => context.note(line.replaceAll("\n", " "))),
  };
}

/** The message that a node's id is in use, and which one is used instead. */
export function idTaken(nodeId: string, next: string): string {
  return `gsv: a node with the id ${nodeId} is already connected; this one is ${next} (--id chooses another)`;
}

async function untilEnded(
  context: Context,
  { connection, ended, stop, nodeId }: RunningNode & { nodeId: string },
  place: { workspace: string; url: string },
  signalled: Promise<unknown>,
): Promise<void> {
  const result = { nodeId, ...place };
  const ready = connection.open().then(
    () =>
      context.print(
        result,
        `node ${nodeId} gives ${place.url} access to ${place.workspace}; Ctrl-C stops it`,
      ),
    () => undefined,
  );
  try {
    const error = await Promise.race([ended, signalled]);
    if (error instanceof Error) throw error;
  } finally {
    await stop();
    await ready;
  }
}

/** A call that takes longer than this gets a line before it has ended, ms. */
const quickMs = 1000;

/**
 * Prints the calls of a node: a line for each ended call, and before it a line for a call that takes longer than `waitMs`.
 * Returns the handler for `onCall`.
 */
export function callLines(print: (line: string) => void, waitMs = quickMs): (change: CallChange) => void {
  const running = new Map<string, NodeJS.Timeout>();
  return ({ outcome, ...call }) => {
    if (outcome === undefined) {
      const line = toolLine({ kind: "calling", ...call });
      running.set(
        call.callId,
        setTimeout(() => print(line), waitMs),
      );
      return;
    }
    clearTimeout(running.get(call.callId));
    running.delete(call.callId);
    const isError = "error" in outcome;
    const report = isError ? undefined : commandResult(outcome.result);
    const command = report && { failure: report.failure, durationMs: report.durationMs };
    // Show how the call ended, but not its output: that is meant for the agent.
    const preview = isError ? outcome.error : "";
    print(toolLine({ kind: "tool", ...call, isError, preview, ...(command ? { command } : {}) }));
  };
}

export const forgetNode: Action = async (context, { args, options }) => {
  const gateway = await context.gateway();
  const force = options.force === true;
  const result = await gateway.request("node.forget", { nodeId: args[0] ?? "", force });
  const ended = result.disconnected ? "; its connection was closed" : "";
  const outcome = result.removed
    ? `any node token may now use the id ${result.nodeId}${ended}`
    : `the id ${result.nodeId} belonged to no token${ended}`;
  context.print(result, outcome);
};
