import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLocalGateway } from "../../local/in-process-gateway.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import { type Scope, scopes } from "../../shared/protocol/methods.ts";
import type { World } from "../../shared/world/world.ts";
import { openClient, type Peer } from "../support/peer.ts";

/** A gateway for one test file: the real functions with the local world and real sockets. */
export interface AttackedGateway {
  ws: string;
  /** Without a trailing slash. */
  webhook: string;
  world: World;
  /** The owner's client, with all scopes. */
  owner: Peer;
  /** Creates a token. @param more channel and account of a bridge's token */
  token(scopes: readonly Scope[], more?: { channel?: string; accountId?: string }): Promise<string>;
  configure(settings: Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
}

export async function startAttackedGateway(): Promise<AttackedGateway> {
  const dir = await mkdtemp(join(tmpdir(), "gsv-attacked-"));
  const gateway = await startLocalGateway({ dir, log: () => {} });
  const { table } = gateway.world;
  let made = 0;
  const token: AttackedGateway["token"] = async (granted, more = {}) =>
    (await createToken(table, { name: `token-${++made}`, scopes: granted, ...more }, Date.now())).token;
  const owner = await openClient(gateway.ws, await token(scopes), "owner");
  return {
    ws: gateway.ws,
    webhook: gateway.webhook,
    world: gateway.world,
    owner,
    token,
    async configure(settings) {
      for (const [path, value] of Object.entries(settings)) await owner.call("config.set", { path, value });
    },
    async close() {
      owner.socket.terminate();
      await gateway.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
