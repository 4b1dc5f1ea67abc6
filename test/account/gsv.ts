import { PassThrough } from "node:stream";
import { main } from "../../cli/app/main.ts";

/** Runs commands of the command line in this process, with a config file of the run. */
export type Gsv = (...args: string[]) => Promise<Record<string, unknown>>;

/**
 * @param folder home and working directory of the commands
 * @param note receives what they write to standard error
 * @returns a function that runs a command with `--json` and returns its last line
 */
export function gsvIn(folder: string, config: string, note: (text: string) => void): Gsv {
  return async (...args) => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    stdin.end();
    let written = "";
    stdout.setEncoding("utf8").on("data", (text: string) => {
      written += text;
    });
    stderr.setEncoding("utf8").on("data", note);
    const env = { ...process.env, HOME: folder };
    const terminal = { stdin, stdout, stderr, env, cwd: folder };
    const code = await main([...args, "--json", "--config", config], terminal);
    const last = JSON.parse(written.trim().split("\n").at(-1) || "{}") as Record<string, unknown>;
    const { error } = last as { error?: { message?: string } };
    if (code !== 0) throw new Error(error?.message ?? `gsv ${args[0]} ended with ${code}: ${written}`);
    return last;
  };
}
