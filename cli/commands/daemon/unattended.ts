import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../../app/context.ts";
import { failureOf } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import { untilSignal } from "../../app/signals.ts";
import { openRotatingLog } from "./rotating-log.ts";

/** Writes one line to a log. */
export type LogLine = (line: string) => void;

/** Time that an unattended program waits after a failure before it exits and its supervisor restarts it, in ms. */
const waitMs = 10 * 60_000;

/**
 * Runs a program that lasts until Ctrl-C. With the option `--unattended <file>` it gets a log, and a failure ends it only
 * after ten minutes.
 * @param run ends when `signalled` resolves
 */
export async function runUntilSignal(
  context: Context,
  options: Invocation["options"],
  run: (log: LogLine | undefined, signalled: Promise<unknown>) => Promise<void>,
): Promise<void> {
  const file = text(options.unattended);
  const log = file === undefined ? undefined : openRotatingLog(resolve(context.terminal.cwd, file));
  const signal = untilSignal();
  try {
    await run(log, signal.received);
  } catch (error) {
    if (log !== undefined) {
      log(`${new Date().toISOString()} ended: ${failureOf(error).message}; next attempt in ten minutes`);
      // Without the wait, a supervisor that restarts the program at once would flood the gateway.
      await Promise.race([sleep(waitMs), signal.received]);
    }
    throw error;
  } finally {
    signal.dispose();
  }
}
