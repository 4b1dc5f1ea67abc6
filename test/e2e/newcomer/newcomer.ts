import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fakeSupervisors } from "../../cli/commands/node/fake-supervisors.ts";
import { startAtTerminal } from "../../support/terminal/pseudo-terminal.ts";
import type { TerminalScreen } from "../../support/terminal/terminal-screen.ts";

/** The code blocks of a document in a language. An empty name selects blocks without one. */
function blocksOf(file: string, language: string): string[] {
  const blocks = [...readFileSync(file, "utf8").matchAll(/^(`{3,})(\w*)\n(.*?)^\1$/gms)];
  return blocks.filter(([, , of]) => of === language).map(([, , , text = ""]) => text.trimEnd());
}

/** The commands of a document's `sh` blocks, in order and without their comments. */
export function commandsOf(file: string): string[] {
  const lines = blocksOf(file, "sh").flatMap((block) => block.split("\n"));
  return lines.map((line) => line.replace(/\s+# .*$/, "")).filter((line) => line !== "");
}

/** The lines of a document's first block without a language. */
export function pictureOf(file: string): string[] {
  return blocksOf(file, "")[0]?.split("\n") ?? [];
}

/**
 * A user who types the commands of a document into a shell, in a clone of this project after `npm ci` and with an empty
 * home. The operating system's supervisor is a fake, and npm cannot download anything.
 */
export class Newcomer {
  readonly #place = mkdtempSync(join(tmpdir(), "gsv-newcomer-"));
  readonly #env: Record<string, string>;
  readonly #background: ChildProcess[] = [];
  /** Where npm installs global packages. */
  readonly prefix = join(this.#place, "global");
  /** Whether a command was run through npx. */
  #hasUsedNpx = false;
  /** The clone: links to the checkout's files, so that new files stay in it. */
  readonly folder = join(this.#place, "gsv");

  constructor() {
    const home = join(this.#place, "home");
    for (const made of [this.folder, home, join(home, "projects")]) mkdirSync(made, { recursive: true });
    for (const name of readdirSync("."))
      if (!name.startsWith(".") && name !== "dist")
        symlinkSync(join(process.cwd(), name), join(this.folder, name));
    const { env } = fakeSupervisors(this.#place);
    this.#env = {
      PATH: `${join(this.prefix, "bin")}:${env.PATH}`,
      HOME: home,
      npm_config_prefix: this.prefix,
      npm_config_offline: "true",
      npm_config_update_notifier: "false",
    };
  }

  /** Runs a command to its end, with an empty standard input. */
  async run(command: string): Promise<{ code: number | null; stdout: string; output: string }> {
    const child = this.#start(command);
    let [stdout, output] = ["", ""];
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      output += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    const [code] = await once(child, "close");
    return { code, stdout, output };
  }

  /** Starts a command that runs until `leave`. Resolves when it has printed `text`. */
  async serve(command: string, text: string): Promise<void> {
    const child = this.#start(command);
    this.#background.push(child);
    let output = "";
    await new Promise<void>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr])
        stream?.setEncoding("utf8").on("data", (more: string) => {
          output += more;
          if (output.includes(text)) resolve();
        });
      child.once("close", (code) => reject(new Error(`${command} ended with ${code}: ${output}`)));
    });
  }

  /** Starts a command at a terminal. */
  terminal(command: string): TerminalScreen {
    return startAtTerminal("sh", ["-c", command], { cwd: this.folder, env: this.#env, columns: 120 });
  }

  /** Stops the processes, and deletes all files. */
  async leave(): Promise<void> {
    for (const child of this.#background) {
      const ended = child.exitCode === null ? once(child, "close") : undefined;
      if (child.pid !== undefined && ended) process.kill(-child.pid, "SIGTERM");
      await ended;
    }
    rmSync(this.#place, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Starts a process group, so that the processes that npx starts end too. */
  #start(typed: string): ChildProcess {
    // npx is slower than a short command. One call through it shows that it finds the program.
    const command = this.#hasUsedNpx ? typed.replace(/\bnpx (?=\w)/, "node_modules/.bin/") : typed;
    this.#hasUsedNpx ||= /\bnpx /.test(typed);
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    return spawn("sh", ["-c", command], { cwd: this.folder, env: this.#env, stdio, detached: true });
  }
}
