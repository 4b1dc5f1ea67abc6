import packageFile from "../../package.json" with { type: "json" };
import { accountSettings, isOwnAccount, ownValue } from "../../shared/channels/account.ts";
import { bridgeId } from "../../shared/channels/bridge/bridge.ts";
import type { ChannelAddress } from "../../shared/channels/channel.ts";
import { admitAnonymous } from "../../shared/peers/anonymous-sockets.ts";
import { redeemCode } from "../../shared/peers/codes.ts";
import { checkPlace } from "../../shared/peers/node-place.ts";
import { isGatewayName, nodeTools } from "../../shared/peers/nodes.ts";
import { claimId } from "../../shared/peers/peer-ids.ts";
import {
  bindPeer,
  type ConnectionRecord,
  isMode,
  type Mode,
  type PeerRecord,
} from "../../shared/peers/registry.ts";
import { createDeviceToken, revoked, revokeToken, type TokenHolder } from "../../shared/peers/tokens.ts";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import { events } from "../../shared/protocol/events.ts";
import { protocolVersion, transferCapability } from "../../shared/protocol/frames.ts";
import { methods, type Scope } from "../../shared/protocol/methods.ts";
import type { HelloOk } from "../../shared/protocol/results.ts";
import type { ConnectParams, NodeRuntime } from "../../shared/protocol/schemas.ts";
import { log, logError } from "../../shared/runtime/log.ts";
import { binStatus, type NodeBins } from "../../shared/skills/bin-probes.ts";
import { readNodeBins } from "../../shared/skills/node-bins.ts";
import { resumeTransfers } from "../../shared/transfer/transfer.ts";
import { readAnnouncedNode } from "./announced-node.ts";
import { failDeferred } from "./calls/deferred.ts";
import type { Caller, Gateway } from "./gateway.ts";
import { tellEnd, tellNodeChange } from "./socket-lifecycle.ts";

/** A peer that has connected, and the answer to its `connect`. */
interface Connected {
  caller: Caller;
  hello: HelloOk;
}

/**
 * Handles `connect`: registers the socket as a client, node or channel. An older connection of the same id is
 * closed.
 * @throws PeerError 401, 102, 103 or 403, checked in this order; 103 also for a node with the gateway's name; 409 for an account that the gateway serves itself, an id
 * of another token or of a running process, a socket that is already connected or has ended, and a peer with a newer
 * connection; 401 also when the token was revoked while its peer was being registered
 */
export async function connectPeer(
  gateway: Gateway,
  record: ConnectionRecord,
  params: ConnectParams,
): Promise<Connected> {
  const { token, code } = params.auth ?? {};
  if (code !== undefined) return pairDevice(gateway, record, params, code);
  return registerSocket(gateway, record, params, await authenticate(gateway, record, token));
}

/** Connects a client by a code, for which it gets a token. @throws PeerError as `connectPeer`, 401 for a wrong code */
async function pairDevice(
  gateway: Gateway,
  record: ConnectionRecord,
  params: ConnectParams,
  typed: string,
): Promise<Connected> {
  const { table, now } = gateway;
  // A code is good once, so a `connect` that cannot succeed must not consume it.
  checkVersion(params);
  if (params.client.mode !== "client")
    throw new PeerError(code.forbidden, "auth.code: only for the mode client");
  if (params.auth?.token !== undefined || record.tokenId !== undefined)
    throw new PeerError(code.badRequest, "auth.code: this socket has a token already");
  const { scopes, name = params.client.platform } = await redeemCode(table, typed, now());
  const { token, id, until } = await createDeviceToken(table, { name: name || "browser", scopes }, now());
  try {
    const { caller, hello } = await registerSocket(gateway, record, params, { id, scopes, until });
    return { caller, hello: { ...hello, auth: { token, id, scopes, expiresAt: until } } };
  } catch (error) {
    await revokeToken(table, id, now());
    throw error;
  }
}

async function registerSocket(
  gateway: Gateway,
  record: ConnectionRecord,
  params: ConnectParams,
  holder: Omit<TokenHolder, "name">,
): Promise<Connected> {
  const { connectionId } = record;
  checkVersion(params);
  const mode = checkMode(params, holder);
  const announced = mode === "node" ? readAnnouncedNode(params) : undefined;
  const { version, platform, instance } = params.client;
  const address = mode === "channel" ? await checkChannel(gateway, params, holder) : undefined;
  // An account has one bridge: its peer id comes from the account, not from the client's id.
  const id = address ? bridgeId(address) : params.client.id;
  if (mode === "node" && isGatewayName(id))
    throw new PeerError(
      code.badClient,
      `client.id: "${id}" is the gateway's own name; choose another id (\`gsv node --id NAME\`)`,
    );
  const [bins] = await Promise.all([
    mode === "node" ? readNodeBins(gateway.table, id) : undefined,
    mode === "channel" || mode === "mcp"
      ? undefined
      : claimId(gateway.table, { mode, id }, holder.id, gateway.now()),
  ]);
  if (mode === "node" && instance !== undefined)
    await checkPlace(gateway, { id, instance, tokenId: holder.id }, gateway.now());
  const end = holder.until === undefined ? {} : { until: holder.until };
  const caller: Caller = {
    ...record,
    mode,
    peerId: id,
    tokenId: holder.id,
    scopes: holder.scopes,
    ...end,
    ...(params.capabilities ? { capabilities: params.capabilities } : {}),
    ...address,
  };
  if (record.tokenId === undefined) {
    const shown = { ...record, tokenId: holder.id, scopes: holder.scopes, ...end };
    const admitted = await admitAnonymous(gateway.table, shown);
    if (!admitted) throw new PeerError(code.conflict, "this socket has connected already, or has ended");
  }
  const peer: PeerRecord = {
    id,
    mode,
    connectionId,
    tokenId: holder.id,
    ...end,
    connectedAt: gateway.now(),
    version,
    platform,
    ...(announced && bins ? { ...announced, ...withAnswers(announced.runtime, bins) } : {}),
    ...(mode === "node" && instance !== undefined ? { instance } : {}),
    ...(params.capabilities ? { capabilities: params.capabilities } : {}),
  };
  const replaced = await registerPeer(gateway, caller, peer);
  // A revocation closes the registered peers: either it closed this one, or this check fails.
  if (!(await gateway.tokens.isGood(holder.id))) throw revoked();
  log("peer.connected", { mode, peerId: id, connectionId, tokenId: holder.id });
  // Also fails requests left by connections that ended without `$disconnect`.
  if (mode === "node") await failDeferred(gateway, id, (other) => other !== connectionId);
  if (mode === "node" && !replaced) {
    const tools = [...nodeTools([peer]).keys()];
    await tellNodeChange(gateway, { nodeId: id, connected: true, tools });
  }
  if (mode === "node" && params.capabilities?.includes(transferCapability))
    await resumeTransfers(gateway, { mode, id }).catch((error) =>
      logError("transfer.unresumed", error, { peerId: id }),
    );
  return { caller, hello: helloOf(gateway, caller) };
}

function helloOf({ pageOrigins: [page], mcpUrl }: Gateway, { connectionId, scopes }: Caller): HelloOk {
  const server = { version: packageFile.version, connectionId };
  const own = { ...(page === undefined ? {} : { page }), ...(mcpUrl === undefined ? {} : { mcp: mcpUrl }) };
  return {
    type: "hello-ok",
    protocol: protocolVersion,
    server,
    features: { methods, events },
    scopes,
    ...own,
  };
}

/**
 * Registers the socket as the peer's connection, and closes the one that it replaces.
 * @returns whether it replaced one
 * @throws PeerError 409
 */
async function registerPeer(gateway: Gateway, caller: Caller, peer: PeerRecord): Promise<boolean> {
  const bound = await bindPeer(gateway.table, caller, peer);
  if (!bound) throw new PeerError(code.conflict, "this socket has connected already, or has ended");
  if (bound === "superseded") {
    await tellEnd(gateway, peer.connectionId, "superseded");
    await gateway.sockets.close(peer.connectionId);
    throw new PeerError(code.conflict, `"${peer.id}" has connected again on another socket`);
  }
  if (bound.replaced === undefined) return false;
  await tellEnd(gateway, bound.replaced, "superseded");
  await gateway.sockets.close(bound.replaced);
  return true;
}

async function authenticate(
  gateway: Gateway,
  record: ConnectionRecord,
  token: string | undefined,
): Promise<Omit<TokenHolder, "name">> {
  if (token !== undefined) {
    const holder = await gateway.tokens.verify(token);
    if (!holder) throw new PeerError(code.unauthorized, "wrong token");
    return holder;
  }
  if (record.tokenId === undefined || !record.scopes) throw new PeerError(code.unauthorized, "no token");
  if (!(await gateway.tokens.isGood(record.tokenId))) throw revoked();
  const { tokenId: id, scopes, until, channel, accountId } = record;
  const end = until === undefined ? {} : { until };
  return { id, scopes, ...end, ...(channel === undefined ? {} : { channel, accountId }) };
}

function checkVersion({ minProtocol, maxProtocol = protocolVersion }: ConnectParams): void {
  if (minProtocol === protocolVersion && maxProtocol >= protocolVersion) return;
  throw new PeerError(code.unsupportedVersion, `this gateway speaks protocol ${protocolVersion}`);
}

function checkMode({ client }: ConnectParams, { scopes }: Pick<TokenHolder, "scopes">): Mode {
  const { mode } = client;
  if (!isMode(mode))
    throw new PeerError(code.badClient, "client.mode: expected client, node, channel or mcp");
  if (mode === "channel" && client.channel === undefined) {
    throw new PeerError(code.badClient, "client.channel: needed in mode channel");
  }
  const enough: readonly Scope[] = [mode, "admin", ...(mode === "mcp" ? (["client"] as const) : [])];
  if (!enough.some((scope) => scopes.includes(scope))) {
    throw new PeerError(code.forbidden, `this token does not have the scope ${mode}`);
  }
  return mode;
}

/**
 * The channel and account of a bridge. They must match the token's, and the gateway must not serve that account itself.
 * @throws PeerError 103, 403 or 409
 */
async function checkChannel(
  { configuration, channels }: Gateway,
  { client }: ConnectParams,
  holder: Pick<TokenHolder, "scopes" | "channel" | "accountId">,
): Promise<ChannelAddress> {
  const { channel = "", accountId = "default" } = client;
  for (const [field, name] of Object.entries({ channel, accountId }))
    if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name))
      throw new PeerError(
        code.badClient,
        `client.${field}: expected a name of a-z, 0-9, _ and -, at most 64`,
      );
  const isBound = holder.channel === channel && holder.accountId === accountId;
  if (!isBound && (holder.channel !== undefined || !holder.scopes.includes("admin")))
    throw new PeerError(code.forbidden, `this token is not for ${channel}/${accountId}`);
  const settings = accountSettings(await configuration.load(), { channel, accountId });
  if (isOwnAccount(ownValue(channels, channel), settings)) {
    const message = `the gateway itself serves ${channel}/${accountId}; give the bridge another account`;
    throw new PeerError(code.conflict, message);
  }
  return { channel, accountId };
}

/** A node's announced runtime, with its earlier answers about its programs. */
function withAnswers(runtime: NodeRuntime, bins: NodeBins): Pick<PeerRecord, "runtime" | "binAnswers"> {
  if (bins.answers === 0) return { runtime };
  const { hostBinStatus, ...answered } = binStatus(bins);
  const status = { ...hostBinStatus, ...runtime.hostBinStatus };
  return { runtime: { ...answered, ...runtime, hostBinStatus: status }, binAnswers: bins.answers };
}
