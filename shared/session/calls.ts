import { holdsImages, storeResultImages } from "../media/media-content.ts";
import { absent, add, all, atMost, equal, exists, remove, set } from "../world/expression.ts";
import { ConditionFailed, type Item, type ItemValue, type Table } from "../world/world.ts";
import { readBodies, resultBodyKey, type SessionStore, storeBody } from "./bodies.ts";
import type { CallAddress } from "./call-address.ts";
import type { Run } from "./run.ts";
import { duePartition, metaKey, resultKey, type SessionState, toState } from "./state.ts";

/** What a tool gave back: a result or an error text. */
export interface CallOutcome {
  result?: unknown;
  error?: string;
}

/** Tool results are read again only while their run lives; TTL removes them a week later. Seconds. */
const resultTtlSeconds = 7 * 24 * 3600;

/**
 * A result up to this size is stored in the session's item, by the very write that takes its call out of `pending`: the
 * agent then has it as soon as it has the lease. Bytes of JSON, for one and for all of a step.
 */
const inlineBytes = { one: 2_000, all: 8_000 };

export type Recorded =
  /** The call is answered. `state` tells whether the agent is to be woken. */
  | { status: "recorded"; state: SessionState }
  /** The run is over, or the call is answered or timed out already: nothing changed. */
  | { status: "dropped"; state: SessionState }
  | { status: "unknown" };

/**
 * Stores a node's answer to a call and takes the call out of `pending`: in one conditional write when it is small, else
 * the answer first, its images as media. Safe to repeat. The first answer to a call is the one that counts.
 */
export async function recordResult(
  store: SessionStore,
  address: CallAddress,
  nodeId: string,
  outcome: CallOutcome,
  now: number,
): Promise<Recorded> {
  const state = await recordInline(store.table, address, nodeId, outcome);
  return state ? { status: "recorded", state } : recordBeside(store, address, nodeId, outcome, now);
}

/** Undefined when the answer is too large or holds images, no such call is pending, or others have taken the room. */
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

async function recordBeside(
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
  const call = run?.runId === runId && run.step === step ? run.pending[callId] : undefined;
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

/** Stores an outcome unless the call has one; above 300 KB in the bucket. True when this one was stored. */
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
 * Notes that a call which must not run twice is about to run. False when it was noted before: then a crash came between
 * and its outcome is unknown, or it is stored.
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

/** Stores the outcome of a call whose intent was noted. */
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

/** What became of the calls of a run's step so far, by call id. "interrupted": noted as begun, and no outcome is stored. */
export type Outcomes = ReadonlyMap<string, CallOutcome | "interrupted">;

/** What became of these calls of a run's step. Nothing is read when the run itself holds it all. */
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

/**
 * Marks the calls of a step that are still pending at its deadline as timed out; calls that were sent out anew have a
 * deadline of their own. Returns the state, in which the caller sees whether
 * the agent is to be woken; undefined when the run has moved on and there is nothing to do.
 */
export async function expireCalls(
  table: Table,
  sessionKey: string,
  { runId, step, deadline }: Pick<Run, "runId" | "step" | "deadline">,
  now: number,
): Promise<SessionState | undefined> {
  const key = metaKey(sessionKey);
  for (;;) {
    const item = await table.get(key);
    const state = item && toState(item);
    const run = state?.run;
    if (!run || run.runId !== runId || run.step !== step || run.phase !== "tools") return undefined;
    if (run.pendingCount === 0) return state;
    if (run.deadline !== deadline) return undefined;
    const steps = [
      set(["run", "timedOut"], [...(run.timedOut ?? []), ...Object.keys(run.pending)]),
      set(["run", "pending"], {}),
      set(["run", "pendingCount"], 0),
      set("duePk", duePartition),
      set("dueAt", now),
    ];
    try {
      const unchanged = all(
        equal(["run", "runId"], runId),
        equal(["run", "step"], step),
        equal(["run", "pendingCount"], run.pendingCount),
        ...(deadline === undefined ? [] : [equal(["run", "deadline"], deadline)]),
      );
      return toState(await table.update(key, steps, unchanged));
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
  }
}
