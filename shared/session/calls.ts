import { createHash } from "node:crypto";
import { holdsImages, storeResultImages } from "../media/media-content.ts";
import {
  absent,
  add,
  all,
  atMost,
  type Condition,
  equal,
  exists,
  remove,
  type Step,
  set,
} from "../world/expression.ts";
import {
  ConditionFailed,
  type Item,
  type ItemValue,
  type Schedules,
  succeeds,
  type Table,
} from "../world/world.ts";
import { unansweredResult } from "./asked-session.ts";
import { readBodies, resultBodyKey, type SessionStore, storeBody } from "./bodies.ts";
import { type CallAddress, sentCalls } from "./call-address.ts";
import { dueSteps } from "./due.ts";
import { sweepGraceMs } from "./lease.ts";
import { nextPoll, type PendingCall, type RemoteCall, type Run } from "./run.ts";
import { readSession } from "./sessions.ts";
import { metaKey, resultKey, type SessionState, toState } from "./state.ts";
import { type WaitingRequest, waitingRequests } from "./waiting.ts";

/** The outcome of a tool call: a result or an error text. */
export interface CallOutcome {
  result?: unknown;
  error?: string;
  /** Whose words it contains, besides the owner's. Absent: those of the node that answered. */
  origins?: string[];
}

/** TTL of stored tool results, in seconds. They are read only while their run is in progress. */
const resultTtlSeconds = 7 * 24 * 3600;

/** How long after its end a call of a server is given up by the timer: before, the agent ends it and cancels its task. */
const giveUpGraceMs = 5 * 60_000;

/**
 * Size limits, in bytes of JSON, of results stored in the session's item: for one result and for all results
 * of a step. The write that removes the call from `pending` also stores the result. The agent reads it
 * together with the lease.
 */
const inlineBytes = { one: 2_000, all: 8_000 };

export type Recorded =
  /** The result was stored. The caller passes `state` to `needsAgent` to decide whether to wake the agent. */
  | { status: "recorded"; state: SessionState }
  /** The run has ended, or the call was already answered or timed out. Nothing changed. */
  | { status: "dropped"; state: SessionState }
  /** The session does not exist, or the call was sent to another node. */
  | { status: "unknown" };

/**
 * Stores a node's result of a call and removes the call from `pending`. A small result takes one conditional
 * write. For a large one the result is stored first, with its images as media. Safe to repeat; only the first
 * result of a call counts.
 */
export async function recordResult(
  store: SessionStore,
  address: CallAddress,
  nodeId: string,
  outcome: CallOutcome,
  now: number,
): Promise<Recorded> {
  const state = await recordInline(store.table, address, nodeId, outcome);
  return state ? { status: "recorded", state } : recordAsItem(store, address, nodeId, outcome, now);
}

/**
 * Undefined when the result is too large or holds images, when the call is not pending, or when the step's
 * other results have used up `inlineBytes.all`.
 */
async function recordInline(
  table: Table,
  { sessionKey, runId, step, callId }: CallAddress,
  nodeId: string,
  outcome: CallOutcome,
): Promise<SessionState | undefined> {
  const body = JSON.stringify(outcome);
  const bytes = Buffer.byteLength(body);
  if (bytes > inlineBytes.one || holdsImages(outcome.result)) return undefined;
  const answered = [
    set(["run", "results", callId], body),
    add(["run", "resultBytes"], bytes),
    remove(["run", "pending", callId]),
    add(["run", "pendingCount"], -1),
  ];
  const pending = all(
    equal(["run", "runId"], runId),
    equal(["run", "step"], step),
    equal(["run", "pending", callId, "nodeId"], nodeId),
    atMost(["run", "resultBytes"], inlineBytes.all - bytes),
  );
  try {
    return toState(await table.update(metaKey(sessionKey), answered, pending));
  } catch (error) {
    if (error instanceof ConditionFailed) return undefined;
    throw error;
  }
}

/** Stores the result as an item of its own, then removes the call from `pending`. */
async function recordAsItem(
  store: SessionStore,
  address: CallAddress,
  nodeId: string,
  outcome: CallOutcome,
  now: number,
): Promise<Recorded> {
  const { sessionKey, runId, step, callId } = address;
  const { table } = store;
  const key = metaKey(sessionKey);
  const before = await table.get(key);
  if (!before) return { status: "unknown" };
  const state = toState(before);
  const { run } = state;
  const isWaited = run?.runId === runId && run.step === step && Object.hasOwn(run.pending, callId);
  const call = isWaited ? run.pending[callId] : undefined;
  if (!call) return { status: "dropped", state };
  if (call.nodeId !== nodeId) return { status: "unknown" };
  const result = await storeResultImages(store.bucket, address, outcome.result, now);
  await putOutcome(store, address, { ...outcome, result }, now);
  try {
    const item = await table.update(
      key,
      [remove(["run", "pending", callId]), add(["run", "pendingCount"], -1)],
      all(equal(["run", "runId"], runId), equal(["run", "step"], step), exists(["run", "pending", callId])),
    );
    return { status: "recorded", state: toState(item) };
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
  }
  return { status: "dropped", state: toState((await table.get(key)) ?? before) };
}

function keyOf({ sessionKey, runId, step, callId }: CallAddress) {
  return resultKey(sessionKey, runId, step, callId);
}

/**
 * Stores an outcome unless the call already has one; above 300 KB its body goes to the bucket.
 * @returns true when this outcome was stored
 */
export async function putOutcome(
  { table, bucket }: SessionStore,
  address: CallAddress,
  outcome: CallOutcome,
  now: number,
): Promise<boolean> {
  const expiresAt = Math.floor(now / 1000) + resultTtlSeconds;
  const key = keyOf(address);
  const body = await storeBody(bucket, JSON.stringify(outcome), resultBodyKey);
  try {
    await table.put({ ...key, expiresAt, ...body }, absent("pk"));
    return true;
  } catch (error) {
    if (error instanceof ConditionFailed) return false;
    throw error;
  }
}

/**
 * Records that a call which must not run twice is about to run.
 * @returns false when the intent was already recorded: an earlier attempt stored the outcome, or crashed
 * before it did
 */
export async function putIntent(table: Table, address: CallAddress, now: number): Promise<boolean> {
  const expiresAt = Math.floor(now / 1000) + resultTtlSeconds;
  const key = keyOf(address);
  try {
    await table.put({ ...key, expiresAt, intent: true }, absent("pk"));
    return true;
  } catch (error) {
    if (error instanceof ConditionFailed) return false;
    throw error;
  }
}

/** Stores the outcome of a call whose intent was recorded, and removes the intent. */
export async function settleIntent(
  { table, bucket }: SessionStore,
  address: CallAddress,
  outcome: CallOutcome,
): Promise<void> {
  const key = keyOf(address);
  const body = await storeBody(bucket, JSON.stringify(outcome), resultBodyKey);
  const steps = Object.entries(body).map(([name, value]: [string, ItemValue]) => set(name, value));
  await table.update(key, [...steps, remove("intent")]);
}

/**
 * Outcomes of a step's calls so far, by call id. "interrupted": the intent is recorded, but no outcome is
 * stored.
 */
export type Outcomes = ReadonlyMap<string, CallOutcome | "interrupted">;

/** The outcomes of these calls of a run's step. Reads nothing when the run itself holds all of them. */
export async function readOutcomes(
  { table, bucket }: SessionStore,
  sessionKey: string,
  { runId, step, results = {} }: Pick<Run, "runId" | "step" | "results">,
  calls: readonly { id: string }[],
): Promise<Outcomes> {
  const outcomes = new Map<string, CallOutcome | "interrupted">();
  const elsewhere = new Set<string>();
  for (const { id } of calls) {
    const body = Object.hasOwn(results, id) ? results[id] : undefined;
    if (body === undefined) elsewhere.add(id);
    else outcomes.set(id, JSON.parse(body) as CallOutcome);
  }
  if (elsewhere.size === 0) return outcomes;
  const { pk, sk } = resultKey(sessionKey, runId, step, "");
  const callIdOf = (item: Item) => String(item.sk).slice(sk.length);
  const items = (await table.query({ pk, prefix: sk })).filter((item) => elsewhere.has(callIdOf(item)));
  const bodies = await readBodies(bucket, items);
  for (const [i, item] of items.entries()) outcomes.set(callIdOf(item), toOutcome(item, bodies[i]));
  return outcomes;
}

function toOutcome(item: Item, body: string | undefined): CallOutcome | "interrupted" {
  if (item.intent === true) return "interrupted";
  return body === undefined
    ? { error: "the result was too old to be read" }
    : (JSON.parse(body) as CallOutcome);
}

/** The result of a call that nobody has allowed in time. */
export const unansweredRequest = {
  error:
    "not run: nobody answered the request for approval in time. Nobody refused it either: say so, and ask again if it is still needed",
  origins: [],
};

/**
 * Marks calls to nodes as timed out, gives calls that wait for a session a result with status `timeout`, and those that wait
 * for the owner an error.
 */
function expirySteps({ timedOut = [] }: Run, over: [string, PendingCall][], now: number): Step[] {
  const ofNodes = over.flatMap(([id, { asked, approval }]) => (asked || approval ? [] : [id]));
  return [
    set(["run", "timedOut"], [...timedOut, ...ofNodes]),
    ...over.flatMap(([id, { asked, approval }]) => {
      const result = approval ? unansweredRequest : asked && unansweredResult(asked, now);
      return result ? [set(["run", "results", id], JSON.stringify(result))] : [];
    }),
  ];
}

/** A step that no longer waits for its calls. */
export interface Expired {
  /** The caller passes it to `needsAgent` to decide whether to wake the agent. */
  state: SessionState;
  /** The calls that this write marked as timed out, with the call ids that the nodes received. */
  calls: { nodeId: string; callId: string }[];
  /** Requests that nobody has answered in time. */
  unanswered: WaitingRequest[];
}

/**
 * Marks the calls of a step that are still pending at its deadline as timed out. Calls that were sent again
 * have a later deadline and stay pending, and so do calls that wait longer for the owner.
 * @returns undefined when the run is in another step or phase, or has another deadline
 */
export async function expireCalls(
  table: Table,
  sessionKey: string,
  { runId, step, deadline }: Pick<Run, "runId" | "step" | "deadline">,
  now: number,
): Promise<Expired | undefined> {
  const key = metaKey(sessionKey);
  for (;;) {
    const item = await table.get(key);
    const state = item && toState(item);
    const run = state?.run;
    if (!run || run.runId !== runId || run.step !== step || run.phase !== "tools") return undefined;
    if (run.pendingCount === 0) return { state, calls: [], unanswered: [] };
    if (run.deadline !== deadline) return undefined;
    const time = Math.max(now, deadline ?? now);
    const isOver = ({ approval, remote }: PendingCall) =>
      remote && !approval
        ? givenUpAt(remote) <= time
        : !approval || (!approval.answer && approval.until <= time);
    const calls = Object.entries(run.pending);
    const over = calls.filter(([, call]) => isOver(call));
    const left = calls.filter(([, call]) => !isOver(call));
    const next = Math.min(
      ...waitingRequests({ pending: Object.fromEntries(left) }).map((one) => one.approval.until),
      ...left.flatMap(([, { approval, remote }]) => (remote && !approval ? [givenUpAt(remote)] : [])),
    );
    const steps = [
      ...expirySteps(run, over, now),
      set(["run", "pending"], Object.fromEntries(left) as unknown as ItemValue),
      set(["run", "pendingCount"], left.length),
      ...(Number.isFinite(next) ? [set(["run", "deadline"], next)] : []),
      ...dueSteps(key, left.length > 0 && !run.decided ? next + sweepGraceMs : now),
    ];
    try {
      const unanswered = waitingRequests(run);
      const unchanged = all(
        equal(["run", "runId"], runId),
        equal(["run", "step"], step),
        // A run that was stopped meanwhile has withdrawn its requests.
        equal(["run", "phase"], "tools"),
        equal(["run", "pendingCount"], run.pendingCount),
        run.decided === undefined ? absent(["run", "decided"]) : equal(["run", "decided"], run.decided),
        ...unanswered.flatMap(({ callId, approval }) => [
          // Once the agent has acted on an answer, its call has neither an answer nor a request.
          equal(["run", "pending", callId, "approval", "id"], approval.id),
          absent(["run", "pending", callId, "approval", "answer"]),
        ]),
        ...(deadline === undefined ? [] : [equal(["run", "deadline"], deadline)]),
        // This write replaces all pending calls: the agent may have noted a task meanwhile.
        ...left.flatMap(([callId, { remote }]) => (remote ? [sameTask(callId, remote)] : [])),
      );
      const expired = toState(await table.update(key, steps, unchanged));
      const ended = unanswered.filter(({ approval }) => approval.until <= time);
      return { state: expired, calls: sentCalls(sessionKey, run), unanswered: ended };
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
  }
}

/** When a call of a server is given up if the agent, which does so first, has not. */
export const givenUpAt = ({ until }: RemoteCall): number => until + giveUpGraceMs;

function sameTask(callId: string, { sentAt, pollAt }: RemoteCall): Condition {
  const path = ["run", "pending", callId, "remote"];
  const same = (name: string, value: number | undefined) =>
    value === undefined ? absent([...path, name]) : equal([...path, name], value);
  return all(same("sentAt", sentAt), same("pollAt", pollAt));
}

/** Schedules the time at which the agent asks servers about the tasks of a step. A repeat is the same schedule. */
export async function schedulePoll(
  { schedules }: { schedules: Schedules },
  sessionKey: string,
  run: Pick<Run, "runId" | "step" | "phase" | "pending">,
): Promise<void> {
  const at = nextPoll(run);
  if (at === undefined) return;
  const { runId, step } = run;
  const digest = createHash("sha256").update(`${sessionKey}\n${runId}\n${step}\n${at}`).digest("hex");
  await schedules.once(`tasks-${digest.slice(0, 40)}`, at, {
    kind: "task-poll",
    sessionKey,
    runId,
    step,
    at,
  });
}

/** Schedules the end of the wait for a step's pending calls. The schedule's name makes a repeat the same schedule. */
export async function scheduleTimeout(
  { schedules }: { schedules: Schedules },
  sessionKey: string,
  { runId, step, deadline }: Pick<Run, "runId" | "step" | "deadline">,
): Promise<void> {
  if (deadline === undefined) return;
  const name = `${sessionKey}\n${runId}\n${step}\n${deadline}`;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 40);
  const event = { kind: "tool-timeout", sessionKey, runId, step, deadline } as const;
  await schedules.once(`tools-${digest}`, deadline, event);
}

/**
 * Extends a step's deadline for a call that is still running: a deadline before `atLeast` becomes `until`. Both epoch ms.
 * @returns false when the run no longer waits for the call
 */
export async function extendWait(
  { table, schedules }: { table: Table; schedules: Schedules },
  { sessionKey, runId, step, callId }: CallAddress,
  { atLeast, until }: { atLeast: number; until: number },
): Promise<boolean> {
  const state = await readSession(table, sessionKey);
  const run = state?.run;
  const isWaited = run?.runId === runId && run.step === step && Object.hasOwn(run.pending, callId);
  if (!isWaited || state?.stop === runId) return false;
  if ((run.deadline ?? 0) >= atLeast) return true;
  const waiting = all(
    equal(["run", "runId"], runId),
    equal(["run", "step"], step),
    exists(["run", "pending", callId]),
  );
  // If the schedule is lost, the sweep ends the wait.
  const isLater = await succeeds(
    table.update(metaKey(sessionKey), [set(["run", "deadline"], until)], waiting),
  );
  if (isLater) await scheduleTimeout({ schedules }, sessionKey, { runId, step, deadline: until });
  return isLater;
}
