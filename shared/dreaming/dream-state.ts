import type { DreamSummary } from "../protocol/memory-schemas.ts";
import { duePartition, scheduleGraceMs } from "../session/state.ts";
import {
  absent,
  add,
  all,
  any,
  below,
  type Condition,
  equal,
  remove,
  type Step,
  set,
} from "../world/expression.ts";
import { ConditionFailed, type Item, type Key, succeeds, type Table } from "../world/world.ts";

/**
 * How long a sweep has its agent to itself, in milliseconds: longer than the functions run that sweep. One that ends early
 * is gone on with when this is over.
 */
export const dreamLeaseMs = 90_000;

/** A sweep whose result is decided on. Whoever goes on with it after a crash writes these same texts. */
export interface BegunSweep {
  /** Of the owner that decided. */
  id: string;
  /** Epoch ms. */
  at: number;
  /** The section of MEMORY.md; absent when nothing is promoted. */
  section?: string;
  /** The entry of DREAMS.md. */
  diary: string;
  promotions: { id: string; score: number }[];
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

/** A planned sweep: when it comes, and the settings that this follows from. */
export interface PlannedSweep {
  nextAt: number;
  plan: string;
}

/** The agent of a key of the `due` index; undefined when it is not a sweep's. */
export function dreamingAgent({ pk, sk }: Key): string | undefined {
  return pk.startsWith(prefix) && sk === "META" ? pk.slice(prefix.length) : undefined;
}

const prefix = "DREAM#";
const keyOf = (agentId: string): Key => ({ pk: prefix + agentId, sk: "META" });
const toState = (item: Item): DreamState => item as unknown as DreamState;

export async function readDream(table: Table, agentId: string): Promise<DreamState> {
  return toState((await table.get(keyOf(agentId))) ?? {});
}

/** Takes the agent's lease when it is free or expired; undefined otherwise. @param owner unique id of this attempt */
export async function acquireDream(
  table: Table,
  agentId: string,
  owner: string,
  now: number,
): Promise<DreamState | undefined> {
  const leaseUntil = now + dreamLeaseMs;
  const steps = [set("owner", owner), set("leaseUntil", leaseUntil), add("epoch", 1), ...due(leaseUntil)];
  const isFree = any(absent("leaseUntil"), below("leaseUntil", now));
  try {
    return toState(await table.update(keyOf(agentId), steps, isFree));
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
  }
  // The SDK repeats a write whose response was lost. The condition then fails because of our own lease.
  const state = await readDream(table, agentId);
  return state.owner === owner ? state : undefined;
}

/** Stores what a sweep has decided on, before anything of it is done. @returns false when the lease was lost */
export function beginSweep(table: Table, agentId: string, sweep: BegunSweep): Promise<boolean> {
  const condition = all(equal("owner", sweep.id), any(absent("sweep"), equal(["sweep", "id"], sweep.id)));
  return succeeds(table.update(keyOf(agentId), [set("sweep", sweep as unknown as Item)], condition));
}

/** Notes that a sweep is done, plans the next one, and lets go of the lease. Another one's is left alone. */
export async function finishSweep(
  table: Table,
  agentId: string,
  { id }: Pick<BegunSweep, "id">,
  last: DreamSummary,
  next: PlannedSweep | undefined,
): Promise<void> {
  const done = [set("last", last as unknown as Item), remove("sweep"), remove("owner"), remove("leaseUntil")];
  const steps = [...done, ...planSteps(next)];
  await succeeds(table.update(keyOf(agentId), steps, equal(["sweep", "id"], id)));
}

/** Notes when the next sweep comes, if the condition holds. */
export async function recordPlan(
  table: Table,
  agentId: string,
  next: PlannedSweep | undefined,
  condition: Condition,
): Promise<void> {
  await succeeds(table.update(keyOf(agentId), planSteps(next), condition));
}

/** Lists the agent in the `due` index for the sweep that is planned; without one it is listed no more. */
export async function recordIdle(
  table: Table,
  agentId: string,
  { nextAt, plan = "", owner }: Pick<DreamState, "nextAt" | "plan" | "owner">,
): Promise<void> {
  const isSame = owner === undefined ? absent("owner") : equal("owner", owner);
  await recordPlan(table, agentId, nextAt === undefined ? undefined : { nextAt, plan }, isSame);
}

/** Lets go of a lease under which nothing was begun. */
export async function releaseDream(table: Table, agentId: string, owner: string): Promise<void> {
  const steps = [remove("owner"), remove("leaseUntil")];
  await succeeds(table.update(keyOf(agentId), steps, equal("owner", owner)));
}

function planSteps(next: PlannedSweep | undefined): Step[] {
  if (!next) return ["nextAt", "plan", "duePk", "dueAt"].map(remove);
  return [set("nextAt", next.nextAt), set("plan", next.plan), ...due(next.nextAt + scheduleGraceMs)];
}

function due(at: number): Step[] {
  return [set("duePk", duePartition), set("dueAt", at)];
}
