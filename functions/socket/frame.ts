import { type ConnectionRecord, countFailure, readConnection } from "../../shared/peers/registry.ts";
import { revoked } from "../../shared/peers/tokens.ts";
import { code, errorShape, PeerError } from "../../shared/protocol/errors.ts";
import {
  errorFrame,
  okFrame,
  parseFrame,
  type RequestFrame,
  type ResponseFrame,
} from "../../shared/protocol/frames.ts";
import { isMethod, type Method, parseParams } from "../../shared/protocol/methods.ts";
import { log, logError } from "../../shared/runtime/log.ts";
import { connectPeer } from "./connect.ts";
import { type Caller, deferred, type Gateway, type HandledMethod, type MethodEntry } from "./gateway.ts";
import { methodTable } from "./methods/methods.ts";
import { respond } from "./respond.ts";
import { authTimeoutMs, endSocket } from "./socket-lifecycle.ts";

/** Failed `connect` requests after which a socket is closed. */
const maxFailures = 3;

/** A request that took longer than this is answered only if the token is still good. Milliseconds. */
const checkAgainMs = 1000;

/** Maximum entries of the cache of connected sockets; a full cache is cleared. */
const maxRemembered = 1000;

/** Handles the route `$default`: one text message of a peer. */
export async function handleFrame(gateway: Gateway, connectionId: string, text: string): Promise<void> {
  const frame = parseFrame(text);
  if (frame === undefined) {
    log("frame.ignored", { connectionId });
    return;
  }
  if ("malformed" in frame) {
    return respond(
      gateway,
      connectionId,
      errorFrame(frame.id, { code: code.badRequest, message: frame.malformed }),
    );
  }
  if (frame.type !== "req") return;
  const caller = gateway.connected.get(connectionId) ?? (await findConnection(gateway, connectionId));
  if (!caller) return endSocket(gateway, connectionId);
  if (frame.method === "connect") return handleConnect(gateway, caller, frame);
  if (!isConnected(caller)) {
    const message = "not connected: send connect first";
    return respond(gateway, connectionId, errorFrame(frame.id, { code: code.notConnected, message }));
  }
  await handleRequest(gateway, caller, frame);
}

/** Undefined for an unknown socket, and for one without a token after `authTimeoutMs`. */
async function findConnection(gateway: Gateway, connectionId: string): Promise<ConnectionRecord | undefined> {
  const record = await readConnection(gateway.table, connectionId, gateway.now());
  if (!record) return undefined;
  if (isConnected(record)) remember(gateway, record);
  else if (record.tokenId === undefined && gateway.now() - record.openedAt > authTimeoutMs) return undefined;
  return record;
}

function isConnected(record: ConnectionRecord): record is Caller {
  return record.mode !== undefined && record.tokenId !== undefined;
}

function remember(gateway: Gateway, caller: Caller): void {
  if (gateway.connected.size >= maxRemembered) gateway.connected.clear();
  gateway.connected.set(caller.connectionId, caller);
}

async function handleConnect(gateway: Gateway, record: ConnectionRecord, frame: RequestFrame): Promise<void> {
  const { connectionId } = record;
  try {
    if (isConnected(record)) throw new PeerError(code.conflict, "this socket has connected already");
    const { caller, hello } = await connectPeer(gateway, record, parseParams("connect", frame.params));
    remember(gateway, caller);
    await respond(gateway, connectionId, okFrame<"connect">(frame.id, hello));
    await welcome(gateway, caller);
  } catch (error) {
    if (isConnected(record)) return respond(gateway, connectionId, errorFrame(frame.id, errorShape(error)));
    const failures = await countFailure(gateway.table, connectionId);
    if (!(error instanceof PeerError)) logError("connect.failed", error, { connectionId });
    if (failures >= maxFailures || (error instanceof PeerError && error.code === code.unauthorized)) {
      return refuse(gateway, connectionId, frame.id, error);
    }
    await respond(gateway, connectionId, errorFrame(frame.id, errorShape(error)));
  }
}

/** Sends a bridge its waiting messages, after the response to `connect`. */
async function welcome(
  { bridges }: Gateway,
  { mode, channel, accountId, connectionId }: Caller,
): Promise<void> {
  if (mode !== "channel" || channel === undefined || accountId === undefined) return;
  const unsent = (error: unknown) => logError("bridge.unsent", error, { connectionId });
  await bridges.attached({ channel, accountId }).catch(unsent);
}

/**
 * Answers a request if the caller's token is good. A tool's result is recorded beside the check, because a
 * turn waits for it: a node whose token was revoked can end a call that it was sent before, and no more.
 */
async function handleRequest(gateway: Gateway, caller: Caller, frame: RequestFrame): Promise<void> {
  const { connectionId, tokenId } = caller;
  const startedAt = gateway.now();
  const good = gateway.tokens.isGood(tokenId);
  good.catch(() => {});
  // Loaded beside the token check: most requests of clients need it.
  if (caller.mode === "client") gateway.configuration.load().catch(() => {});
  if (frame.method !== "tool.result" && !(await good))
    return refuse(gateway, connectionId, frame.id, revoked());
  const answer = await answerTo(gateway, caller, frame);
  const tookLong = gateway.now() - startedAt > checkAgainMs;
  if (!(await (tookLong ? gateway.tokens.isGood(tokenId) : good)))
    return refuse(gateway, connectionId, frame.id, revoked());
  if (answer !== deferred) await respond(gateway, connectionId, answer);
}

/** The answer to a request, which is an error when its handler throws. */
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
  checkAccess(entry, caller, method);
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

function checkAccess(
  entry: Pick<MethodEntry<Method>, "modes" | "scope">,
  caller: Caller,
  method: Method,
): void {
  if (!entry.modes.includes(caller.mode)) {
    throw new PeerError(code.forbidden, `${method} is not for a connection in mode ${caller.mode}`);
  }
  if (entry.scope && !caller.scopes.includes(entry.scope)) {
    throw new PeerError(code.forbidden, `${method} needs a token with the scope ${entry.scope}`);
  }
}

/** Sends the error, then closes the socket. API Gateway chooses the close code. */
async function refuse(gateway: Gateway, connectionId: string, id: string, error: unknown): Promise<void> {
  await respond(gateway, connectionId, errorFrame(id, errorShape(error)));
  await endSocket(gateway, connectionId);
}
