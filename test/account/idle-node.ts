import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startChild } from "../bench/processes/children.ts";

/** A process of `gsv node` whose tools nobody calls. */
export interface IdleNode {
  /** When it had connected, epoch ms. */
  since: number;
  /** What it has printed. */
  output(): string;
  stop(): Promise<void>;
}

const program = fileURLToPath(new URL("../../cli/bin.mjs", import.meta.url));

/** Starts the node `idle`. @throws Error when it ends instead of connecting */
export async function startIdleNode(folder: string, config: string): Promise<IdleNode> {
  const args = [program, "node", "--id", "idle", "--workspace", folder, "--config", config];
  const child = startChild(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const connected = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (/connected/.test(output)) resolve();
      });
  });
  await Promise.race([
    connected,
    once(child, "exit").then(() => Promise.reject(new Error(`gsv node has ended: ${output}`))),
  ]);
  return { since: Date.now(), output: () => output, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill();
  await ended;
}
