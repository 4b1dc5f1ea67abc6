import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const repository = join(import.meta.dirname, "../../..");

export interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A running `gsv` of the project. */
export interface Started {
  child: ChildProcessWithoutNullStreams;
  /** Resolves when the process has ended. */
  ended: Promise<Run>;
  /** Resolves when standard output contains `text`. */
  prints(text: string): Promise<void>;
}

/** A small project with this project's launcher and other sources, in a separate folder. */
export class LaunchProject {
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), "gsv-launch-")));
  readonly root = join(this.#folder, "project");
  /** Where builds are kept beside the sources. */
  readonly builds = join(this.root, "dist", "cli");
  /** The folder of temporary files of the project's processes. */
  readonly temporary = join(this.#folder, "tmp");

  constructor() {
    for (const folder of ["functions", "local", "node_modules", "../tmp"])
      mkdirSync(join(this.root, folder), { recursive: true });
    for (const path of ["cli/bin.mjs", "cli/launch", "shared/build"])
      cpSync(join(repository, path), join(this.root, path), { recursive: true });
    for (const name of ["esbuild", "@esbuild"])
      symlinkSync(join(repository, "node_modules", name), join(this.root, "node_modules", name));
    this.write("package.json", '{"type": "module"}');
    this.says("hello");
  }

  write(path: string, content: string): void {
    const file = join(this.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }

  /** Makes the program's sources print `text`. */
  says(text: string): void {
    this.main(`console.log(${JSON.stringify(text)});`);
  }

  /** Replaces what the program does. */
  main(statements: string, imports = ""): void {
    const body = `export async function runProcess(): Promise<void> {\n  ${statements}\n}\n`;
    this.write("cli/app/main.ts", `${imports}\n${body}`);
  }

  start(script = "cli/bin.mjs", ...args: string[]): Started {
    const child = spawn(process.execPath, [join(this.root, script), ...args], {
      env: { PATH: process.env.PATH, TMPDIR: this.temporary },
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      stdout += chunk;
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      stderr += chunk;
    });
    const ended = once(child, "close").then(([code]) => ({ code, stdout, stderr }));
    return {
      child,
      ended,
      async prints(text) {
        while (!stdout.includes(text)) await Promise.race([once(child.stdout, "data"), failWhenEnded(ended)]);
      },
    };
  }

  run(script?: string, ...args: string[]): Promise<Run> {
    return this.start(script, ...args).ended;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function failWhenEnded(ended: Promise<Run>): Promise<never> {
  throw new Error(`it ended: ${JSON.stringify(await ended)}`);
}
