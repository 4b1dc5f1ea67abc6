import { connectionsOf, listPeers, modes } from "../../../shared/peers/registry.ts";
import { createToken, listTokens, revokeToken } from "../../../shared/peers/tokens.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { MethodTable } from "../gateway.ts";
import { endRevoked } from "../socket-lifecycle.ts";

export const tokenMethods: Pick<MethodTable, "token.create" | "token.list" | "token.revoke"> = {
  "token.create": {
    modes: ["client"],
    scope: "admin",
    async handle({ table, now }, purpose) {
      const isBridge = purpose.scopes.includes("channel") && !purpose.scopes.includes("admin");
      if (isBridge && purpose.channel === undefined) {
        const message =
          "channel: required, because a token with the scope channel is for one channel and account";
        throw new PeerError(code.badRequest, message);
      }
      if (purpose.channel !== undefined && !purpose.scopes.includes("channel"))
        throw new PeerError(code.badRequest, "channel: only for a token with the scope channel");
      return createToken(table, purpose, now());
    },
  },
  "token.list": {
    modes: ["client"],
    scope: "admin",
    async handle({ table, now }) {
      const peersOf = modes.map((mode) => listPeers(table, mode, now()));
      const [tokens, ...peers] = await Promise.all([listTokens(table), ...peersOf]);
      const countOf = (id: string) => peers.flat().filter(({ tokenId }) => tokenId === id).length;
      return { tokens: tokens.map((token) => ({ ...token, connections: countOf(token.id) })) };
    },
  },
  "token.revoke": {
    modes: ["client"],
    scope: "admin",
    async handle(gateway, { id }) {
      const { table, now } = gateway;
      if (!(await revokeToken(table, id, now())))
        throw new PeerError(code.notFound, `token not found: ${id}`);
      // A peer that is connecting meanwhile checks its token again after it is registered.
      const connections = await connectionsOf(table, id);
      await Promise.all(connections.map((connectionId) => endRevoked(gateway, connectionId)));
      return { revoked: true, id };
    },
  },
};
