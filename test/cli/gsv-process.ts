import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const ownProgram = join(import.meta.dirname, "../../cli/bin.mjs");

export interface GsvProcess {
  child: ChildProcessWithoutNullStreams;
  stdout(): string;
  stderr(): string;
  /** Resolves with the first match in standard output; rejects when the process ends before. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with the exit code, null after a signal. */
  ended: Promise<number | null>;
}

const running = new Set<ChildProcessWithoutNullStreams>();

/** Kills the processes that a failed test has left running. */
export function killLeftovers(): void {
  for (const child of running) child.kill("SIGKILL");
}

/**
 * Starts `gsv` as a separate process in a folder that is also its home, without provider keys in its environment.
 * @param program the program's file: that of this checkout, or that of an installed package
 */
export function startGsv(
  cwd: string,
  args: string[],
  env: Record<string, string> = {},
  program = ownProgram,
): GsvProcess {
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, ...env },
  });
  running.add(child);
  child.once("close", () => running.delete(child));
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    err += chunk;
  });
  const ended = once(child, "close").then(([code]) => code as number | null);
  const prints = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(out);
        if (match) resolve(match);
      };
      child.stdout.on("data", look);
      void ended.then(() => reject(new Error(`ended before it printed ${pattern}: ${out}${err}`)));
      look();
    });
  return { child, stdout: () => out, stderr: () => err, prints, ended };
}

/** Runs `gsv` with a standard input until it exits. */
export async function runGsv(
  cwd: string,
  args: string[],
  options: { input?: string; env?: Record<string, string>; program?: string } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const run = startGsv(cwd, args, options.env, options.program);
  run.child.stdin.end(options.input ?? "");
  const code = await run.ended;
  return { code, stdout: run.stdout(), stderr: run.stderr() };
}
