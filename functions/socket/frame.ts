import {
  type AnonymousSocket,
  countAnonymousFrame,
  dropAnonymous,
} from "../../shared/peers/anonymous-sockets.ts";
import {
  type ConnectionRecord,
  countFrame,
  dropUnconnected,
  readConnection,
} from "../../shared/peers/registry.ts";
import { isDevice, revoked } from "../../shared/peers/tokens.ts";
import { code, errorShape, type MissingScope, PeerError } from "../../shared/protocol/errors.ts";
import {
  errorFrame,
  okFrame,
  parseFrame,
  type RequestFrame,
  type ResponseFrame,
} from "../../shared/protocol/frames.ts";
import { isMethod, type Method, parseParams } from "../../shared/protocol/methods.ts";
import { log, logError } from "../../shared/runtime/log.ts";
import { probeNodeOnConnect } from "../../shared/skills/probing.ts";
import { connectPeer } from "./connect.ts";
import {
  type Caller,
  deferred,
  type Gateway,
  type HandledMethod,
  type MethodEntry,
  respond,
} from "./gateway.ts";
import { methodTable } from "./methods/methods.ts";
import { authTimeoutMs, endSocket } from "./socket-lifecycle.ts";

/** Frames of any kind after which a socket that has not connected is closed. */
const maxFrames = 3;

/** A request that took longer than this is answered only if the token is still good. Milliseconds. */
const checkAgainMs = 1000;

/** Maximum entries of the cache of connected sockets; a full cache is cleared. */
const maxRemembered = 1000;

/** Handles the route `$default`: one text message of a peer. */
export async function handleFrame(gateway: Gateway, socket: AnonymousSocket, text: string): Promise<void> {
  const { connectionId } = socket;
  const frame = parseFrame(text);
  const record = gateway.connected.get(connectionId) ?? (await findConnection(gateway, socket));
  if (!isConnected(record)) return handleUnconnected(gateway, record, frame);
  const request = await requestOf(gateway, connectionId, frame);
  if (!request) return;
  if (request.method === "connect") {
    const error = new PeerError(code.conflict, "this socket has connected already");
    return respond(gateway, connectionId, errorFrame(request.id, errorShape(error)));
  }
  await handleRequest(gateway, record, request);
}

/** The record of a socket. A socket that was opened without a token has no stored record until it connects. */
async function findConnection(gateway: Gateway, socket: AnonymousSocket): Promise<ConnectionRecord> {
  const record = await readConnection(gateway.table, socket.connectionId, gateway.now());
  if (record && isConnected(record)) remember(gateway, record);
  return record ?? { ...socket };
}

/** The request of a frame; undefined for other frames. A malformed frame is answered with an error. */
async function requestOf(
  gateway: Gateway,
  connectionId: string,
  frame: ReturnType<typeof parseFrame>,
): Promise<RequestFrame | undefined> {
  if (frame === undefined) {
    log("frame.ignored", { connectionId });
    return undefined;
  }
  if ("malformed" in frame) {
    const shape = { code: code.badRequest, message: frame.malformed };
    await respond(gateway, connectionId, errorFrame(frame.id, shape));
    return undefined;
  }
  return frame.type === "req" ? frame : undefined;
}

/**
 * Handles a frame of a socket that has not connected. The socket is closed after `maxFrames` frames of any kind, or at the
 * first frame after `authTimeoutMs`, which is not answered.
 */
async function handleUnconnected(
  gateway: Gateway,
  record: ConnectionRecord,
  frame: ReturnType<typeof parseFrame>,
): Promise<void> {
  const { connectionId, openedAt } = record;
  const isLate = gateway.now() - openedAt > authTimeoutMs;
  const frames = isLate ? undefined : await countUnconnected(gateway, record);
  if (frames === undefined && (await endUnconnected(gateway, record))) return;
  const request = await requestOf(gateway, connectionId, frame);
  if (request?.method === "connect") await handleConnect(gateway, record, request);
  else if (request) {
    const message = "not connected: send connect first";
    await respond(gateway, connectionId, errorFrame(request.id, { code: code.notConnected, message }));
  }
  if (frames !== undefined && frames >= maxFrames) await endUnconnected(gateway, record);
}

/** Counts a frame of a socket that has not connected. Undefined when it has connected or ended meanwhile. */
function countUnconnected({ table }: Gateway, record: ConnectionRecord): Promise<number | undefined> {
  return record.tokenId === undefined
    ? countAnonymousFrame(table, record)
    : countFrame(table, record.connectionId);
}

/** Closes a socket that has not connected. Safe to repeat. @returns false when it has connected meanwhile */
async function endUnconnected(gateway: Gateway, record: ConnectionRecord): Promise<boolean> {
  const { table, sockets, now } = gateway;
  const { connectionId } = record;
  const isLeft =
    record.tokenId === undefined
      ? await dropAnonymous(table, record)
      : await dropUnconnected(table, connectionId);
  if (!isLeft && (await readConnection(table, connectionId, now()))) return false;
  log("socket.unauthenticated", { connectionId });
  await sockets.close(connectionId);
  return true;
}

function isConnected(record: ConnectionRecord): record is Caller {
  return record.mode !== undefined && record.tokenId !== undefined;
}

function remember(gateway: Gateway, caller: Caller): void {
  if (gateway.connected.size >= maxRemembered) gateway.connected.clear();
  gateway.connected.set(caller.connectionId, caller);
}

/** Connects a peer. The first wrong token closes the socket; wrong codes are typed, so they count as other frames. */
async function handleConnect(gateway: Gateway, record: ConnectionRecord, frame: RequestFrame): Promise<void> {
  const { connectionId } = record;
  let isCode = false;
  try {
    const params = parseParams("connect", frame.params);
    isCode = params.auth?.code !== undefined;
    const { caller, hello } = await connectPeer(gateway, record, params);
    remember(gateway, caller);
    await respond(gateway, connectionId, okFrame<"connect">(frame.id, hello));
    await welcome(gateway, caller);
  } catch (error) {
    if (!(error instanceof PeerError)) logError("connect.failed", error, { connectionId });
    if (error instanceof PeerError && error.code === code.unauthorized && !isCode) {
      return refuse(gateway, connectionId, frame.id, error, record.openedAt);
    }
    await respond(gateway, connectionId, errorFrame(frame.id, errorShape(error)));
  }
}

/** Runs after the response to `connect`: sends a bridge its waiting messages, asks a node for its programs. */
async function welcome(gateway: Gateway, caller: Caller): Promise<void> {
  const { mode, channel, accountId, connectionId, peerId } = caller;
  if (mode === "node") {
    const unasked = (error: unknown) => logError("probe.unsent", error, { connectionId });
    await probeNodeOnConnect(gateway, gateway.skills, peerId).catch(unasked);
  }
  if (mode !== "channel" || channel === undefined || accountId === undefined) return;
  const unsent = (error: unknown) => logError("bridge.unsent", error, { connectionId });
  await gateway.bridges.attached({ channel, accountId }).catch(unsent);
}

/**
 * Answers a request if the caller's token is good. A tool's result is recorded in parallel with the check, because a turn
 * waits for it: a node whose token was revoked can only answer calls that were sent to it before.
 */
async function handleRequest(gateway: Gateway, caller: Caller, frame: RequestFrame): Promise<void> {
  const { connectionId, tokenId } = caller;
  const startedAt = gateway.now();
  const good = gateway.tokens.isGood(tokenId);
  good.catch(() => {});
  // Most requests of clients need the newest configuration. Read it in parallel with the token check.
  if (caller.mode === "client" || caller.mode === "mcp")
    gateway.configuration.load({ fresh: true }).catch(() => {});
  if (frame.method !== "tool.result" && !(await good))
    return refuse(gateway, connectionId, frame.id, revoked());
  const answer = await answerTo(gateway, caller, frame);
  const tookLong = gateway.now() - startedAt > checkAgainMs;
  if (!(await (tookLong ? gateway.tokens.isGood(tokenId) : good)))
    return refuse(gateway, connectionId, frame.id, revoked());
  if (answer !== deferred) await respond(gateway, connectionId, answer);
}

/** The answer to a request; an error if its handler throws. */
async function answerTo(
  gateway: Gateway,
  caller: Caller,
  frame: RequestFrame,
): Promise<ResponseFrame | typeof deferred> {
  const { connectionId } = caller;
  const { id, method } = frame;
  try {
    if (!isMethod(method) || method === "connect") {
      throw new PeerError(code.notFound, `unknown method: ${method.slice(0, 64)}`);
    }
    const answer = await callMethod(gateway, method, caller, frame);
    log("rpc", { method, connectionId, ok: true });
    return answer;
  } catch (error) {
    const shape = errorShape(error);
    if (error instanceof PeerError)
      log("rpc", { method: method.slice(0, 64), connectionId, ok: false, code: shape.code });
    else logError("rpc.failed", error, { method, connectionId });
    return errorFrame(id, shape);
  }
}

/** Checks access and params, and calls the method's handler. @throws PeerError */
async function callMethod<M extends HandledMethod>(
  gateway: Gateway,
  method: M,
  caller: Caller,
  frame: RequestFrame,
): Promise<ResponseFrame | typeof deferred> {
  const entry: MethodEntry<M> = methodTable[method];
  await checkAccess(gateway, entry, caller, method);
  const params = parseParams(method, await paramsOf(gateway, caller.connectionId, frame));
  const result = await entry.handle(gateway, params, { id: frame.id, caller });
  return result === deferred ? deferred : okFrame<M>(frame.id, result);
}

/** The params of a frame, or the uploaded params that its `paramsRef` names. */
async function paramsOf(
  { payloads }: Gateway,
  connectionId: string,
  { params, paramsRef }: RequestFrame,
): Promise<unknown> {
  return paramsRef === undefined ? params : payloads.take(connectionId, paramsRef);
}

async function checkAccess(
  { table }: Pick<Gateway, "table">,
  entry: Pick<MethodEntry<Method>, "modes" | "scope" | "forDevices">,
  caller: Caller,
  method: Method,
): Promise<void> {
  if (!entry.modes.includes(caller.mode)) {
    throw new PeerError(code.forbidden, `${method} is not available in mode ${caller.mode}`);
  }
  if (entry.scope && !caller.scopes.includes(entry.scope) && !caller.scopes.includes("admin")) {
    const { scope, forDevices } = entry;
    if (forDevices && caller.scopes.includes("approve") && (await isDevice(table, caller.tokenId))) return;
    const message = `${method} needs a token with the scope ${scope}`;
    throw new PeerError(code.forbidden, message, { details: { scope } satisfies MissingScope });
  }
}

/** Sends the error, then closes the socket. API Gateway chooses the close code. */
async function refuse(
  gateway: Gateway,
  connectionId: string,
  id: string,
  error: unknown,
  openedAt?: number,
): Promise<void> {
  await respond(gateway, connectionId, errorFrame(id, errorShape(error)));
  await endSocket(gateway, connectionId, openedAt);
}
