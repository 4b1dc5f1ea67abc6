import { createHash } from "node:crypto";
import { placeOf } from "../../../shared/channels/conversation-place.ts";
import { isStillOwner } from "../../../shared/channels/inbound/sender-role.ts";
import type { Role } from "../../../shared/protocol/channel-accounts.ts";
import type { Receipt } from "../../../shared/protocol/results.ts";
import type { ExecEvent } from "../../../shared/protocol/schemas.ts";
import { log } from "../../../shared/runtime/log.ts";
import { type CallAddress, decodeCallAddress } from "../../../shared/session/call-address.ts";
import type { CallOutcome } from "../../../shared/session/calls.ts";
import { commandEndId, commandEndText } from "../../../shared/session/command-end.ts";
import type { InboxEntry, Origin, Sender } from "../../../shared/session/inbox-entry.ts";
import { submitEntry } from "../../../shared/session/intake.ts";
import { askersOf, type Run, rootOf, senderOf } from "../../../shared/session/run.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { absent, all, any, atMost, differs, equal, exists, set } from "../../../shared/world/expression.ts";
import { type Item, succeeds, type Table } from "../../../shared/world/world.ts";
import type { Gateway } from "../gateway.ts";

/** The record of a command is kept for this time after its start or its last event `started`. Seconds. */
const keptSeconds = 24 * 3600;

/** Max age of a command's record, however often its node reports `started`. Seconds. */
const maxSeconds = 7 * 24 * 3600;

/** Max length of a command's id, in characters. */
const maxIdLength = 256;

/** A command that a run left running on a node, with the facts that its end needs. */
interface BackgroundCommand {
  sessionKey: string;
  /** The session's id at the start. After a reset, the end of the command is not reported. */
  conversation: string;
  /** The id of the call that started it, as the node knows it. */
  callId: string;
  /** The rights of the run. The run that the end starts gets the same. */
  role: Role;
  senderId?: string;
  /** The channel that the run's message came from; absent for a client's. */
  channel?: string;
  /** The sender for whom the run worked; absent for a client's run, and in records of earlier versions. */
  sender?: Sender;
  /** The chain of sessions that forwarded the run's message. */
  askers?: readonly string[];
  /** The message from which the run descends; absent in records of earlier versions. */
  root?: string;
  /** Id of the event that reported its end. */
  endedBy?: string;
  /** When it was recorded, in epoch seconds; absent in records of earlier versions. */
  notedAt?: number;
  /** Epoch seconds. */
  expiresAt: number;
}

const keyOf = (nodeId: string, sessionId: string) => ({ pk: `EXEC#${nodeId}`, sk: sessionId });

/** The item that stores the command of a call, so that a node can report only one command for each call. */
const callKey = (nodeId: string, callId: string) => ({
  pk: `EXEC-CALL#${nodeId}`,
  sk: createHash("sha256").update(callId).digest("hex"),
});

/** The id of the command that a call has left running; undefined for every other outcome. */
export function runningCommand({ result }: CallOutcome): string | undefined {
  if (typeof result !== "object" || result === null) return undefined;
  const { status, sessionId } = result as Record<string, unknown>;
  const isId = typeof sessionId === "string" && sessionId !== "" && sessionId.length <= maxIdLength;
  return status === "running" && isId ? sessionId : undefined;
}

/**
 * Records the command that a call left running, before the call's result is recorded: after a crash in between, the node
 * repeats the result. Does nothing when the run does not wait for this call of this node, when the command belongs to
 * another call, and when the call has another command.
 */
export async function recordCommand(
  { table, now }: Pick<Gateway, "table" | "now">,
  nodeId: string,
  callId: string,
  { sessionKey, runId, step, callId: ofModel }: CallAddress,
  sessionId: string,
): Promise<void> {
  const { run, sessionId: conversation } = (await readSession(table, sessionKey)) ?? {};
  if (run?.runId !== runId || run.step !== step || conversation === undefined) return;
  if (!Object.hasOwn(run.pending, ofModel) || run.pending[ofModel]?.nodeId !== nodeId) return;
  const { role = "owner", senderId } = run;
  const channel = channelOf(run);
  const sender = senderOf(run);
  const askers = askersOf(run);
  const seconds = Math.floor(now() / 1000);
  const command: BackgroundCommand = {
    ...{ sessionKey, conversation, callId, role },
    ...(senderId === undefined ? {} : { senderId }),
    ...(channel === undefined ? {} : { channel }),
    ...(sender ? { sender } : {}),
    ...(askers ? { askers } : {}),
    root: rootOf(run, sessionKey),
    notedAt: seconds,
    expiresAt: seconds + keptSeconds,
  };
  const itsCommand = { ...callKey(nodeId, callId), sessionId, expiresAt: seconds + maxSeconds };
  if (!(await succeeds(table.put(itsCommand, any(absent("pk"), equal("sessionId", sessionId)))))) return;
  const item = { ...command } as unknown as Item;
  const hasEnded = all(exists("endedBy"), differs("callId", callId));
  const isFree = any(absent("pk"), hasEnded, atMost("expiresAt", seconds));
  await succeeds(table.put({ ...item, ...keyOf(nodeId, sessionId) }, isFree));
}

/** The channel of a run's message. For the end of a command it is the channel from which the command was started. */
function channelOf({ task, origin }: Run): string | undefined {
  if (task?.kind === "exec") return task.channel;
  return origin.kind === "channel" ? origin.channel : undefined;
}

/**
 * Accepts a node's report on a background command. The end of a command becomes one message of the session that started
 * it. A report that changes nothing is `dropped`, but never refused: GSV's nodes repeat a refused report forever.
 * @throws temporary errors: the inbox is full, or a service fails. The node then repeats the report
 */
export async function acceptExecEvent(
  gateway: Gateway,
  nodeId: string,
  event: ExecEvent | undefined,
): Promise<Receipt> {
  const why = event === undefined ? "invalid" : await applyEvent(gateway, nodeId, event);
  log("exec.event", { nodeId, eventId: event?.eventId, kind: event?.event, dropped: why });
  return why === undefined ? { ok: true } : { ok: true, dropped: true };
}

/** @returns why the event is dropped */
async function applyEvent(gateway: Gateway, nodeId: string, event: ExecEvent): Promise<string | undefined> {
  const { table, now } = gateway;
  const command = await findCommand(gateway, nodeId, event);
  if (!command) return "unknown";
  if (command.endedBy !== undefined) return "repeated";
  const isSame = all(equal("callId", command.callId), absent("endedBy"));
  const update = (name: string, value: string | number) =>
    succeeds(table.update(keyOf(nodeId, event.sessionId), [set(name, value)], isSame));
  if (event.event === "started") {
    const seconds = Math.floor(now() / 1000);
    const { notedAt = seconds } = command;
    await update("expiresAt", Math.min(seconds + keptSeconds, notedAt + maxSeconds));
    return undefined;
  }
  const state = await readSession(table, command.sessionKey);
  const why = await refusal(gateway, command, state);
  if (why === undefined && state) {
    const origin = await reportOrigin(gateway, command, state);
    await submitEntry(gateway, command.sessionKey, entryOf(nodeId, event, command, origin, now()));
  }
  // After the entry: the node repeats the event after a crash in between, and the inbox knows the entry's id.
  await update("endedBy", event.eventId);
  return why;
}

/** The command of an event. An event may arrive before its call's result; then the command is recorded now. */
async function findCommand(
  gateway: Gateway,
  nodeId: string,
  { sessionId, callId = "" }: ExecEvent,
): Promise<BackgroundCommand | undefined> {
  const known = await readCommand(gateway, nodeId, sessionId);
  if (known) return known;
  const address = decodeCallAddress(callId);
  if (!address) return undefined;
  await recordCommand(gateway, nodeId, callId, address, sessionId);
  return readCommand(gateway, nodeId, sessionId);
}

async function readCommand(
  { table, now }: { table: Table; now: () => number },
  nodeId: string,
  sessionId: string,
): Promise<BackgroundCommand | undefined> {
  const item = await table.get(keyOf(nodeId, sessionId));
  return item && Number(item.expiresAt) > now() / 1000 ? (item as unknown as BackgroundCommand) : undefined;
}

/** Why a command's end is not reported: the session was reset, or the sender who caused it is no longer an owner. */
async function refusal(
  { configuration }: Pick<Gateway, "configuration">,
  { conversation, role, senderId, channel, sender }: BackgroundCommand,
  state: SessionState | undefined,
): Promise<"reset" | "no longer an owner" | undefined> {
  if (state?.sessionId !== conversation) return "reset";
  const stored = channel === undefined || senderId === undefined ? undefined : { channel, senderId };
  if (role !== "owner" || isStillOwner(await configuration.load({ fresh: true }), sender ?? stored))
    return undefined;
  return "no longer an owner";
}

function entryOf(
  nodeId: string,
  event: ExecEvent,
  { callId, conversation, role, senderId, channel, sender, askers, root }: BackgroundCommand,
  origin: Origin,
  now: number,
): InboxEntry {
  const { eventId: _id, callId: _call, outputTail, ...facts } = event;
  const report = { nodeId, callId: decodeCallAddress(callId)?.callId, ...facts, outputTail };
  return {
    id: commandEndId(nodeId, event.sessionId, callId),
    at: now,
    origin,
    // An unknown stored role gets the fewest rights.
    role: role === "owner" ? "owner" : "guest",
    ...(senderId === undefined ? {} : { senderId }),
    kind: "message",
    text: commandEndText(report),
    task: {
      ...{ kind: "exec", nodeId, sessionId: event.sessionId, conversation },
      ...(channel === undefined ? {} : { channel }),
      ...(sender ? { sender } : {}),
      ...(askers ? { askers } : {}),
      ...(root === undefined ? {} : { root }),
    },
  };
}

/** The origin of the report, where its answer is sent: a channel only if the run's message came from one. */
async function reportOrigin(
  { table, configuration }: Pick<Gateway, "table" | "configuration">,
  { channel }: BackgroundCommand,
  state: SessionState,
): Promise<Origin> {
  const place =
    channel === undefined
      ? undefined
      : await placeOf(table, await configuration.load({ fresh: true }), state);
  return place ?? { kind: "client" };
}
