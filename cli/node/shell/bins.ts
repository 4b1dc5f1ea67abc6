import { spawn } from "node:child_process";
import { shellEnvironment, shellProgram } from "./shell.ts";

const end = /^gsv-bins-end$/m;
const script =
  'echo; for name in "$@"; do command -v -- "$name" >/dev/null 2>&1 && printf "gsv-bin:%s\\n" "$name"; done; echo gsv-bins-end';
const binName = /^[A-Za-z0-9_+.-]+$/;
const maxBins = 1000;

/** Max output kept of the shell, in characters. Its profile may print anything. */
const maxOutput = 1_000_000;

/**
 * Returns which programs commands can call. A login shell looks for them, because its profile may extend PATH. The
 * names are passed as arguments of the shell, never as part of its script. An invalid name counts as not found.
 * @throws Error for more than 1000 names, and when the shell fails or takes longer than `timeoutMs`
 */
export async function findBins(
  bins: string[],
  timeoutMs: number,
  environment: NodeJS.ProcessEnv,
): Promise<Record<string, boolean>> {
  if (bins.length > maxBins) throw new Error(`more than ${maxBins} programs in one probe`);
  const names = bins.filter((name) => binName.test(name));
  const output = await runScript(names, timeoutMs, environment);
  // The shell's profile may print other lines.
  const found = new Set(output.split("\n").map((line) => line.match(/^gsv-bin:(.*)$/)?.[1]));
  return Object.fromEntries(bins.map((name) => [name, found.has(name)]));
}

/** Returns the shell's output. The shell has its own process group, so that a timeout also kills what its profile started. */
function runScript(names: string[], timeoutMs: number, environment: NodeJS.ProcessEnv): Promise<string> {
  const env = shellEnvironment(environment);
  const shell = spawn(shellProgram(env), ["-lc", script, "probe", ...names], {
    env,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const endGroup = (): void => {
    try {
      if (shell.pid !== undefined) process.kill(-shell.pid, "SIGKILL");
    } catch {
      // The group has already ended.
    }
  };
  return new Promise((resolve, reject) => {
    let output = "";
    const timeout = setTimeout(() => {
      endGroup();
      reject(new Error(`no answer from the shell in ${timeoutMs} ms`));
    }, timeoutMs);
    shell.stdout.setEncoding("utf8");
    shell.stdout.on("data", (chunk: string) => {
      output = (output + chunk).slice(-maxOutput);
      // Do not wait for the end of the stream: a background process of the profile may keep the pipe open.
      if (!end.test(output)) return;
      clearTimeout(timeout);
      shell.stdout.destroy();
      resolve(output);
    });
    shell.once("error", (error) => {
      clearTimeout(timeout);
      reject(error);
    });
    shell.once("close", (status, signal) => {
      clearTimeout(timeout);
      reject(new Error(`the shell exited with ${status ?? signal} before it answered`));
    });
  });
}
