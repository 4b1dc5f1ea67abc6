import { execFile } from "node:child_process";
import { shellEnvironment, shellProgram } from "./shell.ts";

const script =
  'for name in "$@"; do command -v -- "$name" >/dev/null 2>&1 && printf "gsv-bin:%s\\n" "$name"; done; :';
const binName = /^[A-Za-z0-9_+.][A-Za-z0-9_+.-]*$/;
const mostBins = 1000;

/**
 * Returns the programs that commands can call. It asks a login shell, because its profile may extend PATH.
 * @throws Error when a name is not a valid program name, or the shell takes longer than `timeoutMs`
 */
export async function findBins(
  bins: string[],
  timeoutMs: number,
  environment: NodeJS.ProcessEnv,
): Promise<Record<string, boolean>> {
  if (bins.length > mostBins) throw new Error(`at most ${mostBins} programs can be asked for`);
  const strange = bins.find((name) => !binName.test(name));
  if (strange !== undefined) throw new Error(`not the name of a program: ${JSON.stringify(strange)}`);
  const output = await new Promise<string>((resolve, reject) => {
    const env = shellEnvironment(environment);
    const options = { env, timeout: timeoutMs, killSignal: "SIGKILL" } as const;
    execFile(shellProgram(env), ["-lc", script, "probe", ...bins], options, (error, stdout) => {
      if (error)
        reject(new Error(error.killed ? `no answer from the shell in ${timeoutMs} ms` : error.message));
      else resolve(stdout);
    });
  });
  // The shell's profile may print other lines.
  const found = new Set(output.split("\n").map((line) => line.match(/^gsv-bin:(.*)$/)?.[1]));
  return Object.fromEntries(bins.map((name) => [name, found.has(name)]));
}
