import { code } from "../../../shared/protocol/errors.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { RequestError } from "../../gateway/request-error.ts";

/**
 * The paths of all files in a skill's folder, including those of the copy that all agents share. Ignores paths outside
 * the folder in the gateway's answers, which could form a cycle or name foreign files.
 */
export async function installedFiles(gateway: Gateway, agentId: string, name: string): Promise<string[]> {
  return filesUnder(gateway, agentId, `skills/${name}`);
}

async function filesUnder(gateway: Gateway, agentId: string, path: string): Promise<string[]> {
  const { files, directories } = await gateway.request("workspace.list", { path, agentId });
  const deeper = await Promise.all(
    directories
      .map((directory) => directory.replace(/\/+$/, ""))
      .filter((directory) => directory.startsWith(`${path}/`))
      .map((directory) => filesUnder(gateway, agentId, directory)),
  );
  return [...files.filter((file) => file.startsWith(`${path}/`)), ...deeper.flat()];
}

/** Deletes files of an agent, one after the other. @returns the files that existed */
export async function deleteFiles(
  gateway: Gateway,
  agentId: string,
  paths: readonly string[],
): Promise<string[]> {
  const deleted: string[] = [];
  for (const path of paths) {
    try {
      await gateway.request("workspace.delete", { path, agentId });
      deleted.push(path);
    } catch (error) {
      if (!(error instanceof RequestError) || error.code !== code.notFound) throw error;
    }
  }
  return deleted;
}
