import { homedir, hostname } from "node:os";
import { join, resolve } from "node:path";
import { isGatewayName } from "../../../shared/peers/nodes.ts";
import { peerIdPattern } from "../../../shared/protocol/schemas.ts";
import { configFolder } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { usage } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import type { Settings } from "../../app/settings.ts";
import { machineId } from "../../gateway/machine-id.ts";

/** Checks a node id that the user chose. @throws Failure (usage) when it is invalid */
export function checkedNodeId(id: string): string {
  const choose = "choose another with --id or `gsv local-config set node.id`";
  if (isGatewayName(id)) throw usage(`"${id}" is the gateway's own name; ${choose}`);
  if (peerIdPattern.test(id)) return id;
  throw usage(
    `a node's id has at most 64 letters, digits and . _ : @ -, and begins with a letter or digit, not "${id}"; ${choose}`,
  );
}

/** The id and the workspace of this machine's node: from the options, else the config file, else the defaults. */
export function nodePlace(
  { terminal }: Context,
  settings: Settings,
  options: Invocation["options"],
): { nodeId: string; workspace: string } {
  const nodeId = checkedNodeId(text(options.id) ?? settings.nodeId ?? machineId(hostname()));
  const chosen = text(options.workspace) ?? settings.workspace ?? ".";
  // Expand `~`: no shell has done so for a value of the config file.
  return {
    nodeId,
    workspace: resolve(terminal.cwd, chosen.replace(/^~(?=\/|$)/, terminal.env.HOME || homedir())),
  };
}

/** The file that names the MCP servers of this machine's node, unless `--mcp` names another. */
export function mcpFileOf(env: Record<string, string | undefined>): string {
  return join(configFolder(env), "mcp.json");
}
