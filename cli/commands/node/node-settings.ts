import { homedir, hostname } from "node:os";
import { resolve } from "node:path";
import { peerIdPattern } from "../../../shared/protocol/schemas.ts";
import type { Context } from "../../app/context.ts";
import { usage } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import type { Settings } from "../../app/settings.ts";
import { machineId } from "../../gateway/machine-id.ts";

/** The id that a user chose for a node. @throws Failure (usage) when no gateway takes it */
export function checkedNodeId(id: string): string {
  if (peerIdPattern.test(id)) return id;
  throw usage(
    `a node's id is of letters, digits and . _ : @ -, at most 64, and begins with a letter or digit, not "${id}"; choose another with --id or \`gsv local-config set node.id\``,
  );
}

/** The id and the folder of this machine's node: from the options, else the config file, else the machine's. */
export function nodePlace(
  { terminal }: Context,
  settings: Settings,
  options: Invocation["options"],
): { nodeId: string; workspace: string } {
  const nodeId = checkedNodeId(text(options.id) ?? settings.nodeId ?? machineId(hostname()));
  const chosen = text(options.workspace) ?? settings.workspace ?? ".";
  // The config file's value was not expanded by a shell.
  return {
    nodeId,
    workspace: resolve(terminal.cwd, chosen.replace(/^~(?=\/|$)/, terminal.env.HOME || homedir())),
  };
}
