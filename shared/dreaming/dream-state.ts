import type { DreamSummary } from "../protocol/memory-schemas.ts";
import { dueSteps, notDueSteps } from "../session/due.ts";
import { scheduleGraceMs } from "../session/state.ts";
import {
  absent,
  add,
  all,
  any,
  below,
  type Condition,
  differs,
  equal,
  remove,
  type Step,
  set,
} from "../world/expression.ts";
import { ConditionFailed, type Item, type Key, succeeds, type Table } from "../world/world.ts";

/**
 * Length of a sweep's lease on its agent, in milliseconds: longer than the time limit of the functions that sweep. A crashed
 * sweep is resumed after it.
 */
export const dreamLeaseMs = 90_000;

/** A sweep whose result is decided. If it is resumed after a crash, the same texts are written. */
export interface BegunSweep {
  /** The id of the owner that decided. */
  id: string;
  /** Epoch ms. */
  at: number;
  /** The section of MEMORY.md; absent when nothing is promoted. */
  section?: string;
  /** The entry of DREAMS.md. */
  diary: string;
  promotions: { id: string; score: number }[];
  /** Whose words these contain, besides the owner's. */
  origins?: string[];
  summary: DreamSummary;
}

/** The stored dreaming of an agent. Times are epoch ms. */
export interface DreamState {
  owner?: string;
  leaseUntil?: number;
  /** When the next sweep is scheduled. Other schedules are ignored when they fire. */
  nextAt?: number | undefined;
  /** The settings that `nextAt` follows from (`dreamPlan`). */
  plan?: string;
  sweep?: BegunSweep;
  last?: DreamSummary;
}

/** A planned sweep: its time, and the settings that determine it. */
export interface PlannedSweep {
  nextAt: number;
  plan: string;
}

/** The agent of a key in the `due` index; undefined when the key is not a sweep's. */
export function dreamingAgent({ pk, sk }: Key): string | undefined {
  return pk.startsWith(prefix) && sk === "META" ? pk.slice(prefix.length) : undefined;
}

const prefix = "DREAM#";
const keyOf = (agentId: string): Key => ({ pk: prefix + agentId, sk: "META" });
const toState = (item: Item): DreamState => item as unknown as DreamState;

export async function readDream(table: Table, agentId: string): Promise<DreamState> {
  return toState((await table.get(keyOf(agentId))) ?? {});
}

/** Acquires the agent's lease when it is free or expired; undefined otherwise. @param owner unique id of this attempt */
export async function acquireDream(
  table: Table,
  agentId: string,
  owner: string,
  now: number,
): Promise<DreamState | undefined> {
  const leaseUntil = now + dreamLeaseMs;
  const steps = [
    set("owner", owner),
    set("leaseUntil", leaseUntil),
    add("epoch", 1),
    ...dueSteps(keyOf(agentId), leaseUntil),
  ];
  try {
    return toState(await table.update(keyOf(agentId), steps, isFree(now)));
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
  }
  // The SDK repeats a write whose response was lost. The condition then fails because of our own lease.
  const state = await readDream(table, agentId);
  return state.owner === owner ? state : undefined;
}

/** The condition that nobody has the agent's lease. */
const isFree = (now: number): Condition => any(absent("leaseUntil"), below("leaseUntil", now));

/** Stores the decisions of a sweep before they are carried out. @returns false when the lease was lost */
export function beginSweep(table: Table, agentId: string, sweep: BegunSweep): Promise<boolean> {
  const condition = all(equal("owner", sweep.id), any(absent("sweep"), equal(["sweep", "id"], sweep.id)));
  return succeeds(table.update(keyOf(agentId), [set("sweep", sweep as unknown as Item)], condition));
}

/** Records the end of a sweep, plans the next one, and releases the lease, unless it belongs to another sweep. */
export async function finishSweep(
  table: Table,
  agentId: string,
  { id }: Pick<BegunSweep, "id">,
  last: DreamSummary,
  next: PlannedSweep | undefined,
): Promise<void> {
  const done = [set("last", last as unknown as Item), remove("sweep"), remove("owner"), remove("leaseUntil")];
  const steps = [...done, ...planSteps(agentId, next)];
  await succeeds(table.update(keyOf(agentId), steps, equal(["sweep", "id"], id)));
}

/**
 * Records the plan of the next sweep, unless one is planned with the same settings. A sweep in progress, or interrupted, plans
 * the next one itself, and the time of its check must stay.
 */
export async function recordPlan(
  table: Table,
  agentId: string,
  next: PlannedSweep,
  now: number,
): Promise<void> {
  const isOther = any(absent("nextAt"), differs("plan", next.plan));
  const condition = all(isOther, absent("sweep"), isFree(now));
  await succeeds(table.update(keyOf(agentId), planSteps(agentId, next), condition));
}

/** Lists the agent in the `due` index for its planned sweep; without one, removes it from the index. */
export async function recordIdle(
  table: Table,
  agentId: string,
  { nextAt, plan = "", owner }: Pick<DreamState, "nextAt" | "plan" | "owner">,
): Promise<void> {
  const isSame = owner === undefined ? absent("owner") : equal("owner", owner);
  const steps = planSteps(agentId, nextAt === undefined ? undefined : { nextAt, plan });
  await succeeds(table.update(keyOf(agentId), steps, isSame));
}

/** Releases a lease under which no sweep was begun. */
export async function releaseDream(table: Table, agentId: string, owner: string): Promise<void> {
  const steps = [remove("owner"), remove("leaseUntil")];
  await succeeds(table.update(keyOf(agentId), steps, equal("owner", owner)));
}

function planSteps(agentId: string, next: PlannedSweep | undefined): Step[] {
  if (!next) return [remove("nextAt"), remove("plan"), ...notDueSteps];
  return [
    set("nextAt", next.nextAt),
    set("plan", next.plan),
    ...dueSteps(keyOf(agentId), next.nextAt + scheduleGraceMs),
  ];
}
