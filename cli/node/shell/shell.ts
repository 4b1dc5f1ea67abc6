import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { raceWithTimeout } from "../race-with-timeout.ts";
import { tailOf } from "../truncate.ts";
import { ProcessGroup } from "./process-group.ts";

/** After the shell's exit, the command counts as ended when its pipes are silent for the first time, or after the second, ms. */
const drainSilenceMs = 250;
const drainMaxMs = 2000;
/** Time that a write waits for the command to read it, ms. */
const writeTimeoutMs = 1000;

export interface ShellOptions {
  command: string;
  /** Absolute path of an existing folder. */
  workdir: string;
  timeoutMs: number;
  /** Whether the command's input is a pipe for `write`. Otherwise its input is empty. */
  interactive: boolean;
}

type ShellStatus = "running" | "completed" | "failed";

/** Finds bash, otherwise sh, in the environment's PATH. */
export function shellProgram({ PATH = "" }: NodeJS.ProcessEnv): string {
  for (const folder of PATH.split(delimiter)) {
    if (folder === "") continue;
    try {
      accessSync(join(folder, "bash"), constants.X_OK);
      return "bash";
    } catch {
      // Not in this folder.
    }
  }
  return "sh";
}

/** Copies an environment without the node's and an administrator's token. */
export function shellEnvironment({
  GSV_TOKEN: _token,
  GSV_ADMIN_TOKEN: _adminToken,
  ...environment
}: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return environment;
}

/**
 * One command in a login shell. It has its own process group, so that signals reach its child processes.
 * `ended` resolves when the shell has exited and its output is read; it never rejects. Background processes
 * of the command run until `killNow`.
 */
export class ShellSession {
  readonly sessionId = randomUUID();
  readonly command: string;
  readonly workdir: string;
  readonly startedAt = Date.now();
  readonly output = new OutputTail();
  readonly started: Promise<void>;
  readonly ended: Promise<void>;
  endedAt: number | undefined;
  exitCode: number | null = null;
  signal: NodeJS.Signals | null = null;
  timedOut = false;
  readonly #child: ChildProcessByStdio<Writable | null, Readable, Readable>;
  readonly #group: ProcessGroup;

  constructor(options: ShellOptions, environment: NodeJS.ProcessEnv) {
    this.command = options.command;
    this.workdir = options.workdir;
    this.#child = spawn(shellProgram(environment), ["-lc", options.command], {
      cwd: options.workdir,
      env: shellEnvironment(environment),
      detached: true,
      stdio: [options.interactive ? "pipe" : "ignore", "pipe", "pipe"],
    }) as ChildProcessByStdio<Writable | null, Readable, Readable>;
    this.#group = new ProcessGroup(this.#child);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (chunk: string) => this.output.append(chunk));
    }
    // Ignore the error of a command that exits without reading its input; `write` reports it.
    this.#child.stdin?.on("error", () => {});
    this.started = once(this.#child, "spawn").then(() => {});
    this.ended = this.#watch(options.timeoutMs);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get status(): ShellStatus {
    if (this.endedAt === undefined) return "running";
    return this.exitCode === 0 && !this.timedOut ? "completed" : "failed";
  }

  /** Whether any process of the command's group is alive. */
  get alive(): boolean {
    return this.#group.alive;
  }

  /**
   * Writes to the command's input. Returns before a slow command reads it.
   * @throws Error when the input is closed
   */
  async write(data: string): Promise<void> {
    const { stdin } = this.#child;
    if (this.endedAt !== undefined || stdin === null || !stdin.writable) {
      throw new Error(
        `session ${this.sessionId} accepts no input: it has ended or was not started in the background`,
      );
    }
    const written = new Promise<void>((resolve, reject) => {
      stdin.write(data, (error) => (error ? reject(new Error(`write failed: ${error.message}`)) : resolve()));
    });
    await raceWithTimeout(written, writeTimeoutMs);
  }

  /** Sends SIGTERM to the process group, and SIGKILL after 250 ms. Resolves when the command has ended. */
  async kill(): Promise<void> {
    await this.#group.end();
    await this.ended;
  }

  /** Sends SIGKILL to the process group. */
  killNow(): void {
    this.#group.signal("SIGKILL");
  }

  #watch(timeoutMs: number): Promise<void> {
    const child = this.#child;
    const streams = [child.stdout, child.stderr];
    return new Promise((resolve) => {
      const timeout = setTimeout(() => {
        this.timedOut = true;
        void this.kill();
      }, timeoutMs);
      let silence: NodeJS.Timeout | undefined;
      let drain: NodeJS.Timeout | undefined;
      const heard = (): void => void silence?.refresh();
      const settle = (): void => {
        for (const timer of [timeout, silence, drain]) clearTimeout(timer);
        for (const stream of streams) stream.off("data", heard);
        this.endedAt ??= Date.now();
        // Check for remaining processes now, before the system can reuse the group's id.
        this.#group.signal(0);
        resolve();
      };
      child.once("error", settle);
      child.once("close", settle);
      child.once("exit", (exitCode, signal) => {
        this.exitCode = exitCode;
        this.signal = signal;
        clearTimeout(timeout);
        // A background process of the command may keep the pipes open long after the shell has exited.
        silence = setTimeout(settle, drainSilenceMs);
        drain = setTimeout(settle, drainMaxMs);
        for (const stream of streams) stream.on("data", heard);
      });
    });
  }
}

/** Number of characters kept from the end of a command's output. */
const keptOutputChars = 200_000;

/** The last 200,000 characters of a command's output. */
class OutputTail {
  #text = "";
  #total = 0;
  #read = 0;

  append(chunk: string): void {
    this.#total += chunk.length;
    this.#text += chunk;
    // Trim at twice the size, so that the cost is spread over many chunks.
    if (this.#text.length > 2 * keptOutputChars) this.#text = tailOf(this.#text, keptOutputChars);
  }

  get text(): string {
    return tailOf(this.#text, keptOutputChars);
  }

  /** Whether the beginning of the output was dropped. */
  get truncated(): boolean {
    return this.#total > keptOutputChars;
  }

  /** Returns the output since the last call. `missed`: the beginning of it was dropped. */
  readNew(): { text: string; missed: boolean } {
    const count = this.#total - this.#read;
    this.#read = this.#total;
    return count === 0
      ? { text: "", missed: false }
      : { text: tailOf(this.text, count), missed: count > keptOutputChars };
  }
}
