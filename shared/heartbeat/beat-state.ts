import { createHash } from "node:crypto";
import type { SkipReason } from "../protocol/agent-heartbeat.ts";
import { dueSteps, notDueSteps } from "../session/due.ts";
import { scheduleGraceMs } from "../session/state.ts";
import { changeItem } from "../world/change-item.ts";
import { add, remove, type Step, set } from "../world/expression.ts";
import type { Item, Key, Schedules, Table } from "../world/world.ts";
import { type BeatSettings, nextBeat, planOf } from "./beat-times.ts";

/** Partition of the agents' heartbeats; the sort key is the agent's id. */
export const beatPartition = "HEARTBEAT";

/** Maximum length of the stored answer, in characters. */
const maxTextLength = 2000;

/** The stored heartbeat of an agent. Times are epoch ms. */
export interface BeatState {
  agentId: string;
  /** Turned on, even while the settings disable it. False: the user turned it off. Absent: not decided yet. */
  on?: boolean;
  /** The time of the scheduled tick. Other schedules are ignored when they fire. */
  nextAt?: number;
  /** The settings that determine `nextAt` (`planOf`). */
  plan?: string;
  lastAt?: number;
  lastText?: string;
  lastSentAt?: number;
  skippedAt?: number;
  skipReason?: SkipReason;
  /** The epoch of the plan. */
  version?: number;
}

/** The dependencies of scheduling ticks. */
export interface BeatPlanning {
  table: Table;
  schedules: Schedules;
}

const keyOf = (agentId: string): Key => ({ pk: beatPartition, sk: agentId });

const toState = (item: Item): BeatState => ({ ...(item as unknown as BeatState), agentId: String(item.sk) });

export async function readBeat(table: Table, agentId: string): Promise<BeatState> {
  const item = await table.get(keyOf(agentId));
  return item ? toState(item) : { agentId };
}

/** The stored heartbeats: of all agents that ever had a tick or were turned on. */
export async function listBeats(table: Table): Promise<BeatState[]> {
  return (await table.query({ pk: beatPartition })).map(toState);
}

/**
 * Turns a heartbeat on, or plans its next tick again. Does nothing when the next tick is planned with the same settings, or
 * the heartbeat was turned off since it was read.
 */
export async function turnOn(
  planning: BeatPlanning,
  read: BeatState,
  settings: BeatSettings,
  now: number,
): Promise<void> {
  const isWanted = ({ on, plan, nextAt = 0 }: BeatState) =>
    !(on && plan === planOf(settings) && (settings.everyMs === 0 || nextAt > now)) &&
    !(on === false && read.on !== false);
  await schedule(planning, read, isWanted, settings, { last: now, now }, [set("on", true)]);
}

/** Plans the next tick again when the settings that determine it have changed. A heartbeat that is off stays off. */
export async function planAnew(
  planning: BeatPlanning,
  read: BeatState,
  settings: BeatSettings,
  now: number,
): Promise<void> {
  const isWanted = ({ on, plan }: BeatState) => on === true && plan !== planOf(settings);
  await schedule(planning, read, isWanted, settings, { last: now, now });
}

/**
 * Plans the tick after the one at `at`, and records why that one was skipped. Does nothing when another invocation
 * has done so, or the heartbeat was turned off meanwhile.
 */
export async function planNextBeat(
  planning: BeatPlanning,
  read: BeatState,
  { at, skipped }: { at: number; skipped: SkipReason | undefined },
  settings: BeatSettings,
  now: number,
): Promise<void> {
  const steps = skipped ? [set("skippedAt", now), set("skipReason", skipped)] : [];
  await schedule(planning, read, ({ nextAt }) => nextAt === at, settings, { last: at, now }, steps);
}

/** Turns a heartbeat off. An existing schedule is ignored when it fires. */
export async function turnOff(table: Table, agentId: string): Promise<void> {
  await table.update(keyOf(agentId), [set("on", false), ...noNext, add("version", 1)]);
}

const noNext = [remove("nextAt"), remove("plan"), ...notDueSteps];

/**
 * Creates the schedule of the next tick, then records it in the agent's item as long as that is wanted. After a crash in
 * between, the item has an earlier tick, and the new schedule is ignored or recorded by a repeat.
 */
async function schedule(
  { table, schedules }: BeatPlanning,
  read: BeatState,
  isWanted: (state: BeatState) => boolean,
  settings: BeatSettings,
  { last, now }: { last: number; now: number },
  extraSteps: readonly Step[] = [],
): Promise<void> {
  if (!isWanted(read)) return;
  const { agentId } = read;
  const next = nextBeat(last, now, settings);
  const digest = createHash("sha256").update(agentId).digest("hex").slice(0, 32);
  if (next !== undefined)
    await schedules.once(`heartbeat-${digest}-${next}`, next, { kind: "heartbeat", agentId, at: next });
  const planned =
    next === undefined
      ? noNext.filter(({ path }) => path !== "plan")
      : [set("nextAt", next), ...dueSteps(keyOf(agentId), next + scheduleGraceMs)];
  const steps = [...planned, set("plan", planOf(settings)), ...extraSteps];
  for (let state = read; isWanted(state); state = await readBeat(table, agentId))
    if (await changeItem(table, keyOf(agentId), state, steps)) return;
}

/** Records the answer of a tick, and when it was delivered to a channel. */
export async function recordBeatAnswer(
  table: Table,
  agentId: string,
  { at, text, sentAt }: { at: number; text: string; sentAt: number | undefined },
): Promise<void> {
  const sent = sentAt === undefined ? [] : [set("lastSentAt", sentAt)];
  const shown = text.slice(0, maxTextLength).toWellFormed();
  await table.update(keyOf(agentId), [set("lastAt", at), set("lastText", shown), ...sent]);
}
