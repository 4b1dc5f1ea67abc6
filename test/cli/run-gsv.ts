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
  /** Standard input, which is then at its end. */
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

/** Runs one `gsv` command line in this process, with a home of its own, and by default with streams that are not terminals. */
export async function gsv(args: string[], options: GsvOptions = {}): Promise<GsvRun> {
  const cwd = options.cwd ?? newFolder();
  const { isInteractive = false, isTTY = isInteractive, columns = 80 } = options;
  const stream = () => Object.assign(new PassThrough(), { isTTY, ...(isTTY ? { columns } : {}) });
  const stdin = Object.assign(new PassThrough(), { isTTY: isInteractive });
  const [stdout, stderr] = [stream(), stream()];
  stdin.write(options.input ?? "");
  if (options.endless !== true) stdin.end();
  const [out, err] = [collect(stdout), collect(stderr)];
  const env = { HOME: cwd, PATH: process.env.PATH, ...options.env };
  const code = await main(args, { stdin, stdout, stderr, env, cwd });
  return { code, stdout: out(), stderr: err() };
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
