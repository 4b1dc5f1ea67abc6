import { homedir, hostname } from "node:os";
import { resolve } from "node:path";
import type { Context } from "../../app/context.ts";
import { type Invocation, text } from "../../app/options.ts";
import type { Settings } from "../../app/settings.ts";
import { machineId } from "../../gateway/machine-id.ts";

/** The id and the folder of this machine's node: from the options, else the config file, else the machine's. */
export function nodePlace(
  { terminal }: Context,
  settings: Settings,
  options: Invocation["options"],
): { nodeId: string; workspace: string } {
  const nodeId = text(options.id) ?? settings.nodeId ?? machineId(hostname());
  const chosen = text(options.workspace) ?? settings.workspace ?? ".";
  // The config file's value was not expanded by a shell.
  return {
    nodeId,
    workspace: resolve(terminal.cwd, chosen.replace(/^~(?=\/|$)/, terminal.env.HOME || homedir())),
  };
}
