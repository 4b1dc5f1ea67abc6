import { spawn } from "node:child_process";
import { once } from "node:events";

/** Runs a program of this project to its end. @param say receives its output @throws Error when it fails */
export async function runCommand(
  command: string,
  args: readonly string[],
  say: (line: string) => void,
): Promise<void> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => say(text.trimEnd()));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${command} ${args.slice(0, 2).join(" ")} ended with ${code}`);
}
