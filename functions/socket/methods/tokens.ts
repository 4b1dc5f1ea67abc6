import { code, PeerError } from "../../../shared/protocol/errors.ts";
import { listPeers, modes } from "../../../shared/registry.ts";
import { createToken, listTokens, revokeToken } from "../../../shared/tokens.ts";
import type { MethodTable } from "../gateway.ts";

export const tokenMethods: Pick<MethodTable, "token.create" | "token.list" | "token.revoke"> = {
  "token.create": {
    modes: ["client"],
    scope: "admin",
    handle: async ({ table, now }, { name, scopes }) => createToken(table, { name, scopes }, now()),
  },
  "token.list": {
    modes: ["client"],
    scope: "admin",
    handle: async ({ table }) => ({ tokens: await listTokens(table) }),
  },
  "token.revoke": {
    modes: ["client"],
    scope: "admin",
    async handle(gateway, { id }) {
      const { table, sockets, now } = gateway;
      if (!(await revokeToken(table, id))) throw new PeerError(code.notFound, `token not found: ${id}`);
      const peers = await Promise.all(modes.map((mode) => listPeers(table, mode, now())));
      const connected = peers.flat().filter((peer) => peer.tokenId === id);
      await Promise.all(connected.map((peer) => sockets.close(peer.connectionId)));
      return { revoked: true, id };
    },
  },
};
