import { once } from "node:events";
import { PassThrough } from "node:stream";
import { main } from "../../cli/app/main.ts";
import { newFolder } from "../support/run/test-folders.ts";

export interface GsvRun {
  code: number;
  stdout: string;
  stderr: string;
}

export interface GsvOptions {
  env?: Record<string, string>;
  /** The complete standard input. */
  input?: string;
  /** Standard input has no end. */
  endless?: boolean;
  /** Folder to run in; a new empty one by default. */
  cwd?: string;
  /** Standard output and standard error are a terminal. */
  isTTY?: boolean;
  /** Standard input, too, is a terminal. */
  isInteractive?: boolean;
  /** Columns of the terminal; 80 by default. */
  columns?: number;
}

/** A `gsv` that keeps running in this process. */
export interface GsvHere {
  stdout(): string;
  stderr(): string;
  /** Resolves with the first match in standard output; rejects when the command ends before. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with the exit code. */
  ended: Promise<number>;
}

const running = new Set<Promise<number>>();

/** Starts one `gsv` command line in this process, with its own home folder. By default, no stream is a terminal. */
export function startHere(args: string[], options: GsvOptions = {}): GsvHere {
  const cwd = options.cwd ?? newFolder();
  const { isInteractive = false, isTTY = isInteractive, columns = 80 } = options;
  const stream = () => Object.assign(new PassThrough(), { isTTY, ...(isTTY ? { columns } : {}) });
  const stdin = Object.assign(new PassThrough(), { isTTY: isInteractive });
  const [stdout, stderr] = [stream(), stream()];
  stdin.write(options.input ?? "");
  if (options.endless !== true) stdin.end();
  const [out, err] = [collect(stdout), collect(stderr)];
  const env = { HOME: cwd, PATH: process.env.PATH, ...options.env };
  const ended = main(args, { stdin, stdout, stderr, env, cwd });
  running.add(ended);
  const forget = () => void running.delete(ended);
  ended.then(forget, forget);
  const prints = async (pattern: RegExp) => {
    for (let isEnded = false; ; ) {
      const match = pattern.exec(out());
      if (match) return match;
      if (isEnded) throw new Error(`ended before it printed ${pattern}: ${out()}${err()}`);
      isEnded = await Promise.race([once(stdout, "data").then(() => false), ended.then(() => true)]);
    }
  };
  return { stdout: out, stderr: err, prints, ended };
}

/** Ends the commands that are still running in this process, as Ctrl-C does. */
export async function interruptHere(): Promise<void> {
  if (running.size > 0) process.emit("SIGINT");
  await Promise.all(running);
}

/** Runs one `gsv` command line as `startHere` does, until it ends. */
export async function gsv(args: string[], options: GsvOptions = {}): Promise<GsvRun> {
  const { ended, stdout, stderr } = startHere(args, options);
  const code = await ended;
  return { code, stdout: stdout(), stderr: stderr() };
}

function collect(stream: PassThrough): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return () => {
    text += stream.read() ?? "";
    return text;
  };
}
