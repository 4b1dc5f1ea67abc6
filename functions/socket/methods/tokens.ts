import { connectionsOf, listPeers, modes } from "../../../shared/peers/registry.ts";
import { createToken, listTokens, revokeToken } from "../../../shared/peers/tokens.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { MethodTable } from "../gateway.ts";
import { endRevoked } from "../socket-lifecycle.ts";

type TokenMethod = "token.create" | "token.list" | "token.standing" | "token.revoke";

/** Age from which a token with the scope admin is reported, in milliseconds. One that expires is never this old. */
const standingMs = 3_600_000;

export const tokenMethods: Pick<MethodTable, TokenMethod> = {
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
      const [tokens, ...peers] = await Promise.all([listTokens(table, now()), ...peersOf]);
      const countOf = (id: string) => peers.flat().filter(({ tokenId }) => tokenId === id).length;
      return { tokens: tokens.map((token) => ({ ...token, connections: countOf(token.id) })) };
    },
  },
  "token.standing": {
    modes: ["client"],
    async handle({ table, now }) {
      const [tokens, nodes] = await Promise.all([listTokens(table, now()), listPeers(table, "node", now())]);
      const standing = tokens.filter(
        ({ scopes, createdAt }) => scopes.includes("admin") && now() - createdAt >= standingMs,
      );
      const nodesOf = (id: string) => nodes.filter(({ tokenId }) => tokenId === id).map((node) => node.id);
      return { tokens: standing.map((token) => ({ ...token, nodes: nodesOf(token.id) })) };
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
