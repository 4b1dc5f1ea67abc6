import { createCode } from "../../../shared/peers/codes.ts";
import { approveRequest, denyRequest, readRequest } from "../../../shared/peers/program-grants.ts";
import { connectionsOf, listPeers, modes } from "../../../shared/peers/registry.ts";
import { createToken, listTokens, revokeToken } from "../../../shared/peers/tokens.ts";
import { deviceScopes } from "../../../shared/protocol/devices.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { Scope } from "../../../shared/protocol/methods.ts";
import type { ListedToken } from "../../../shared/protocol/token-results.ts";
import type { Gateway, MethodTable } from "../gateway.ts";
import { endRevoked } from "../socket-lifecycle.ts";

type TokenMethod = "token.create" | "token.list" | "token.standing" | "token.revoke";
type ProgramMethod = "program.get" | "program.approve" | "program.deny";
type DeviceMethod = "code.create" | "device.list" | "device.revoke";

/** Age from which a token with the scope admin is reported, in milliseconds. One that expires is never this old. */
const standingMs = 3_600_000;

/** Programs that ask to be let in (docs/mcp.md). */
export const programMethods: Pick<MethodTable, ProgramMethod> = {
  "program.get": {
    modes: ["client"],
    handle: ({ table, now }, params) => readRequest(table, params.code, now()),
  },
  "program.approve": {
    modes: ["client"],
    scope: "admin",
    forDevices: true,
    handle: ({ table, now }, params) => approveRequest(table, params.code, params.scopes, now()),
  },
  "program.deny": {
    modes: ["client"],
    scope: "admin",
    forDevices: true,
    handle: ({ table, now }, params) => denyRequest(table, params.code, now()),
  },
};

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
    async handle(gateway) {
      return { tokens: await listWithConnections(gateway) };
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
      await revokeAndClose(gateway, id);
      return { revoked: true, id };
    },
  },
};

export const deviceMethods: Pick<MethodTable, DeviceMethod> = {
  "code.create": {
    modes: ["client"],
    async handle({ table, now }, { scopes, name, seconds, short }, { caller }) {
      const may = (scope: Scope) => caller.scopes.includes(scope) || caller.scopes.includes("admin");
      const missing = scopes?.find((scope) => !may(scope));
      if (missing !== undefined)
        throw new PeerError(code.forbidden, `scopes: your token does not have the scope ${missing}`);
      const granted = deviceScopes.filter((scope) => (scopes ? scopes.includes(scope) : may(scope)));
      const grant = { scopes: granted, ...(name === undefined ? {} : { name }), by: caller.tokenId };
      return createCode(table, grant, { seconds, hasShort: short }, now());
    },
  },
  "device.list": {
    modes: ["client"],
    async handle(gateway, _params, { caller }) {
      const devices = (await listWithConnections(gateway)).filter(({ device }) => device);
      const isCurrent = ({ id }: ListedToken) => id === caller.tokenId;
      return { devices: devices.map((one) => ({ ...one, ...(isCurrent(one) ? { current: true } : {}) })) };
    },
  },
  "device.revoke": {
    modes: ["client"],
    async handle(gateway, { id }) {
      const { table, now } = gateway;
      const isDevice = (await listTokens(table, now())).some((token) => token.id === id && token.device);
      if (!isDevice) throw new PeerError(code.notFound, `device not found: ${id}`);
      await revokeAndClose(gateway, id);
      return { revoked: true, id };
    },
  },
};

/** The tokens in use, each with the number of peers that are connected with it. */
async function listWithConnections({ table, now }: Gateway): Promise<ListedToken[]> {
  const peersOf = modes.map((mode) => listPeers(table, mode, now()));
  const [tokens, ...peers] = await Promise.all([listTokens(table, now()), ...peersOf]);
  const countOf = (id: string) => peers.flat().filter(({ tokenId }) => tokenId === id).length;
  return tokens.map((token) => ({ ...token, connections: countOf(token.id) }));
}

/** Revokes a token, and closes the sockets of its peers. @throws PeerError 404 */
async function revokeAndClose(gateway: Gateway, id: string): Promise<void> {
  const { table, now } = gateway;
  if (!(await revokeToken(table, id, now()))) throw new PeerError(code.notFound, `token not found: ${id}`);
  // A peer that is connecting meanwhile checks its token again after it is registered.
  const connections = await connectionsOf(table, id);
  await Promise.all(connections.map((connectionId) => endRevoked(gateway, connectionId)));
}
