import { type ChildProcess, fork, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Process groups started by this bench that may still run, by their leader's pid. */
const groups = new Set<number>();
let root: string | undefined;

/** Makes a folder of this bench. All are removed when its process ends for any reason. */
export function makeFolder(name: string): string {
  root ??= mkdtempSync(join(tmpdir(), "gsv-bench-"));
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Starts a process in a new group, which is killed when this process ends. */
export function startChild(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  return adopt(spawn(command, args, { ...options, detached: true }));
}

/** One of the bench's own scripts in a separate process. Its first message is its address. */
export interface Forked {
  pid: number;
  /** The address that it reported. */
  url: string;
  /** Sends a message and returns the next one that it sends. */
  ask(message: string): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts a TypeScript script of this bench, and waits for its `{url}`. */
export async function forkScript(file: URL, args: readonly string[] = []): Promise<Forked> {
  const child = adopt(fork(file, args, { execArgv: ["--import", "tsx"], detached: true }));
  const ended = once(child, "exit").then(([code]): never => {
    throw new Error(`${file.pathname} ended with ${code}`);
  });
  ended.catch(() => {});
  const next = () => Promise.race([new Promise<unknown>((resolve) => child.once("message", resolve)), ended]);
  const { url } = (await next()) as { url: string };
  return {
    pid: child.pid ?? 0,
    url,
    ask(message) {
      const answer = next();
      child.send(message);
      return answer;
    },
    async stop() {
      child.kill("SIGKILL");
      await ended.catch(() => {});
    },
  };
}

/**
 * Kills running processes and removes the folders when this process ends. Call once.
 * @param atSignals whether Ctrl-C ends this process
 */
export function cleanUpAtExit({ atSignals = true } = {}): void {
  for (const [signal, code] of [
    ["SIGINT", 130] as const,
    ["SIGTERM", 143] as const,
    ["SIGHUP", 129] as const,
  ])
    if (atSignals) process.once(signal, () => process.exit(code));
  process.on("exit", () => {
    for (const pid of groups) killGroup(pid);
    removeFolders();
  });
}

/** Removes the folders that `makeFolder` has made. */
export function removeFolders(): void {
  if (root !== undefined) rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  root = undefined;
}

function adopt(child: ChildProcess): ChildProcess {
  const { pid } = child;
  if (pid !== undefined) {
    groups.add(pid);
    child.once("exit", () => groups.delete(pid));
  }
  return child;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
