import type { Gateway } from "../../../functions/socket/gateway.ts";
import { openConfiguration } from "../../../shared/configuration/store.ts";
import { loadMemories } from "../../../shared/memory/load-memories.ts";
import { openWorkspace } from "../../../shared/workspace/workspace-files.ts";
import type { World } from "../../../shared/world/world.ts";

/** The gateway on the machine of a request: the parts that the handlers of a scene's methods use. */
export function gatewayOf(world: World): Gateway {
  const { table, bucket, secrets, now } = world;
  const workspace = openWorkspace(bucket);
  const { memories } = loadMemories({ table, bucket, workspace });
  const configuration = openConfiguration(table, secrets, { now });
  return { ...world, configuration, workspace, memories } as unknown as Gateway;
}
