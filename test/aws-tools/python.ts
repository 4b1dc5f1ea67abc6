import { type ChildProcess, spawn } from "node:child_process";

/** What a command printed, and its exit code; null when it was ended by a signal. */
export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** What a check found. `faults`: one line each; none when it passed. `skipped`: why it did not run. */
export interface Found {
  check: string;
  passed: number;
  faults: string[];
  /** The number of known differences from AWS. */
  known?: number;
  skipped?: string;
}

/** Runs a command to its end. A missing command has the exit code 127. */
export function runCommand(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const text = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (piece: string) => {
        text[name] += piece;
      });
    child.once("error", (error) => resolve({ code: 127, stdout: "", stderr: error.message }));
    child.once("close", (code) => resolve({ code, ...text }));
  });
}

/**
 * Checks that a Python package is installed.
 * @returns the line that a check prints if it is not
 */
export async function missing(
  python: string,
  module: string,
  { name, install = name }: { name: string; install?: string },
): Promise<string | undefined> {
  const { code } = await runCommand(python, ["-c", `import ${module}`]);
  return code === 0 ? undefined : `${name} is not installed; pip install ${install}`;
}

/** Ends a process and waits until it has ended. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("close", resolve));
  child.kill();
  await ended;
}
