import { spawn } from "node:child_process";
import { Failure } from "../../app/failure.ts";

/** The exit code and output of a program. */
interface Outcome {
  /** Undefined when the program could not be started, or when a signal killed it. */
  code: number | undefined;
  stdout: string;
  /** Without trailing white space. */
  stderr: string;
}

/** Runs a program until it exits. Never rejects. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<Outcome>;

type Environment = Record<string, string | undefined>;

/** Runs programs with English texts and times in UTC. @param cwd working directory of the programs */
export function programRunner(env: Environment, cwd?: string): RunProgram {
  return (program, args) =>
    new Promise((resolve) => {
      const child = spawn(program, args, {
        env: { ...env, LC_ALL: "C", TZ: "UTC" },
        cwd,
        stdio: ["ignore", "pipe", "pipe"],
      });
      const output = { stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"] as const)
        child[name].setEncoding("utf8").on("data", (text: string) => {
          output[name] += text;
        });
      child.once("error", (error) => resolve({ code: undefined, stdout: "", stderr: error.message }));
      child.once("close", (code) =>
        resolve({ code: code ?? undefined, stdout: output.stdout, stderr: output.stderr.trim() }),
      );
    });
}

/**
 * Runs a program with its output on standard error, because standard output is for the result of the command.
 * @throws Failure of this kind when the program fails; Error when it cannot be started
 */
export function runShown(
  program: string,
  args: readonly string[],
  { env, cwd, kind }: { env: Environment; cwd: string; kind: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ["inherit", 2, 2], env });
    child.once("error", reject);
    child.once("exit", (status, signal) => {
      if (status === 0) return resolve();
      const how = status === null ? `was killed by ${signal}` : `failed with exit code ${status}`;
      const name = [program.split("/").pop(), args[0]].join(" ");
      reject(new Failure(kind, `${name} ${how}; see its messages above`));
    });
  });
}
