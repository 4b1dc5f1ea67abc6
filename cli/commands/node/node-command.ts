import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { commandResult } from "../../../shared/session/result-message.ts";
import { configFolder } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { failureOf } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import { untilSignal } from "../../app/process/signals.ts";
import type { Action } from "../../app/program.ts";
import { version } from "../../app/version.ts";
import { toolLine } from "../../chat/progress/tool-line.ts";
import { startUnderFreeId } from "../../node/free-id.ts";
import { type NodeOptions, type RunningNode, startNode } from "../../node/node-runtime.ts";
import type { CallChange } from "../../node/running-calls.ts";
import { nodePlace } from "./node-settings.ts";

/** How long an unattended node waits after a refusal before it ends and is started again, in ms. */
const unattendedWaitMs = 10 * 60_000;

export const node: Action = async (context, { options }) => {
  const file = text(options.unattended);
  const log = file === undefined ? undefined : openRotatingLog(resolve(context.terminal.cwd, file));
  const signal = untilSignal();
  try {
    await runNode(context, options, log, signal.received);
  } catch (error) {
    if (log !== undefined) {
      log(
        `${new Date().toISOString()} ended: ${failureOf(error).message}; the next attempt is in ten minutes`,
      );
      // What starts it again at once would otherwise ask the gateway all the time.
      await Promise.race([sleep(unattendedWaitMs), signal.received]);
    }
    throw error;
  } finally {
    signal.dispose();
  }
};

async function runNode(
  context: Context,
  options: Invocation["options"],
  log: ((line: string) => void) | undefined,
  signalled: Promise<unknown>,
): Promise<void> {
  const settings = await context.settings();
  const { url, token } = await context.address();
  const { nodeId, workspace } = nodePlace(context, settings, options);
  const told = log === undefined ? terminalOf(context) : { onLog: log };
  const journalFolder = join(configFolder(context.terminal.env), "node");
  const waitsForPlace = log !== undefined;
  const node = { url, token, nodeId, workspace, version, journalFolder, waitsForPlace, ...told };
  const running =
    text(options.id) || log
      ? { ...startNode(node), nodeId }
      : await startUnderFreeId(node, (taken, next) => context.note(idTaken(taken, next)), signalled);
  await untilEnded(context, running, { workspace, url }, signalled);
}

/** What a node in the foreground tells: at a terminal what it runs, anywhere else the lines of its log. */
function terminalOf(context: Context): Pick<NodeOptions, "onLog" | "onCall"> {
  if (!context.terminal.stderr.isTTY) return { onLog: (line) => context.note(line) };
  return {
    onLog: (line, isOfCall) => {
      if (!isOfCall) context.note(line);
    },
    onCall: callLines((line) => context.note(line.replaceAll("\n", " "))),
  };
}

/** Says that a node's id is in use, and which one is tried instead. */
export function idTaken(nodeId: string, next: string): string {
  return `gsv: a node with the id ${nodeId} is connected already; this one is ${next} (--id chooses another)`;
}

async function untilEnded(
  context: Context,
  { connection, ended, stop, nodeId }: RunningNode & { nodeId: string },
  place: { workspace: string; url: string },
  signalled: Promise<unknown>,
): Promise<void> {
  const told = { nodeId, ...place };
  const ready = connection.open().then(
    () => context.print(told, `node ${nodeId} lends ${place.workspace} to ${place.url}; Ctrl-C ends it`),
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

/** A call of this time is worth a line before it has ended, ms. */
const soonMs = 1000;

/**
 * Tells the terminal of a node what the node runs: a line for each call that has ended, and one before for a call that takes
 * a while. Returns what takes notice of calls.
 */
export function callLines(print: (line: string) => void, waitMs = soonMs): (change: CallChange) => void {
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
    // Of what came no more is shown than the exit: it is the agent's.
    const preview = isError ? outcome.error : "";
    print(toolLine({ kind: "tool", ...call, isError, preview, ...(command ? { command } : {}) }));
  };
}

/** Size above which a log file is put aside, in bytes. */
const defaultMostBytes = 5 * 1024 * 1024;

/**
 * Returns a function that appends one line to a log file. A file above `maxBytes` is renamed to `{file}.1`, and that to
 * `{file}.2`, which is the oldest one that is kept. Lines are lost when the disk is full.
 */
export function openRotatingLog(file: string, maxBytes = defaultMostBytes): (line: string) => void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  let bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return (line) => {
    try {
      if (bytes >= maxBytes) {
        if (statSync(`${file}.1`, { throwIfNoEntry: false })) renameSync(`${file}.1`, `${file}.2`);
        renameSync(file, `${file}.1`);
        bytes = 0;
      }
      appendFileSync(file, `${line}\n`, { mode: 0o600 });
      bytes += Buffer.byteLength(line) + 1;
    } catch {
      // A failed log write cannot be logged.
    }
  };
}
