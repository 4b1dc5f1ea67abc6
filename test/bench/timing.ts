import type { Driver } from "./driver.ts";
import { percentiles, round } from "./figures.ts";
import { type DriverMarks, joinMarks, type ModelMarks, type TurnKind } from "./marks.ts";
import type { Forked } from "./processes/children.ts";
import { type Usage, usageOf } from "./processes/process-usage.ts";

const sessionsAtOnce = 20;
const warmUp = 30;

/** Turns of the floor between as many of the gateway, so that both see the same state of the machine. */
const interleaved = 20;

/** The system to measure. */
export interface Timed {
  driver: Driver;
  model: Forked;
  floor: { driver: Driver; process: Forked };
  /** Absent for a gateway that consists of several processes. */
  usage?: () => Usage;
}

/** Measures turns of both kinds in sequence, across 20 parallel sessions, and in a growing history. */
export async function timeTurns(timed: Timed, turns: number, say: (text: string) => void) {
  const { driver, floor, usage } = timed;
  say("warming up …");
  await oneByOne(floor.driver, "plain", 10 * warmUp, "warm");
  await oneByOne(driver, "plain", warmUp, "warm");
  await oneByOne(driver, "tool", warmUp, "warm-tool");
  // Deployed functions get as many instances as there are parallel sessions.
  await perSecond(driver, "tool", 2);
  say(`${turns} turns without a tool …`);
  const plain = await measured(timed, "plain", turns);
  say(`${turns} turns with a tool …`);
  const tool = await measured(timed, "tool", turns);
  say(`${sessionsAtOnce} sessions at once …`);
  const loads = await measureLoads(timed, turns);
  say("a growing history …");
  const growing = await oneByOne(driver, "plain", turns, "growing", 1);
  return {
    turn_ms: totals(plain.marks),
    tool_turn_ms: totals(tool.marks),
    send_to_model_ms: percentiles(plain.marks.map((mark) => (mark.asked[0] ?? 0) - mark.sent)),
    result_to_model_ms: percentiles(tool.marks.map((mark) => (mark.asked[1] ?? 0) - (mark.result ?? 0))),
    model_to_final_ms: percentiles(plain.marks.map((mark) => mark.final - (mark.answered[0] ?? 0))),
    ...loads,
    history_growth: growth(growing),
    ...(usage === undefined
      ? {}
      : {
          cpu_ms_per_turn: round(plain.cpuMs / turns),
          cpu_ms_per_tool_turn: round(tool.cpuMs / turns),
          rss_mb: round(usage().rssMb, 1),
        }),
    floor_turn_ms: totals([...plain.floorMarks, ...tool.floorMarks]),
    floor_cpu_ms_per_turn: round(
      (plain.floorCpuMs + tool.floorCpuMs) / (plain.floorMarks.length + tool.floorMarks.length),
    ),
  };
}

/** Runs turns one after the other, alternating between the given number of sessions. */
export async function oneByOne(
  driver: Driver,
  kind: TurnKind,
  count: number,
  name: string,
  sessions = 10,
): Promise<DriverMarks[]> {
  const marks: DriverMarks[] = [];
  for (let i = 0; i < count; i++) marks.push(await driver.turn(`${name}-${i % sessions}`, kind));
  return marks;
}

/** The marks of the model server since the last call, by run. */
export async function collectMarks(model: Forked): Promise<Record<string, ModelMarks>> {
  return (await model.ask("take")) as Record<string, ModelMarks>;
}

/** Median and 95th percentile of the time from the message's frame to the final answer's. */
const totals = (marks: readonly DriverMarks[]) => percentiles(marks.map((mark) => mark.final - mark.sent));

/** Runs turns of a kind one after the other, with turns of the floor in between. */
async function measured({ driver, model, floor, usage }: Timed, kind: TurnKind, turns: number) {
  const cpu = () => ({ gateway: usage?.().cpuMs ?? 0, floor: usageOf(floor.process.pid).cpuMs });
  const driven: DriverMarks[] = [];
  const floorMarks: DriverMarks[] = [];
  await collectMarks(model);
  const before = cpu();
  while (driven.length < turns) {
    const count = Math.min(interleaved, turns - driven.length);
    driven.push(...(await oneByOne(driver, kind, count, kind)));
    floorMarks.push(...(await oneByOne(floor.driver, "plain", interleaved, "floor")));
  }
  const after = cpu();
  return {
    marks: joinMarks(driven, await collectMarks(model)),
    cpuMs: after.gateway - before.gateway,
    floorMarks,
    floorCpuMs: after.floor - before.floor,
  };
}

/** Turns per second over 20 sessions: of both kinds, and of the floor before, between and after them. */
async function measureLoads({ driver, floor }: Timed, turns: number) {
  const each = Math.ceil(turns / 10);
  const loadFloor = () => perSecond(floor.driver, "plain", 2 * each);
  const floors = [await loadFloor()];
  const turns_per_s_20_sessions = await perSecond(driver, "plain", each);
  floors.push(await loadFloor());
  const tool_turns_per_s_20_sessions = await perSecond(driver, "tool", each);
  floors.push(await loadFloor());
  const sum = floors.reduce((total, one) => total + one, 0);
  return {
    turns_per_s_20_sessions,
    tool_turns_per_s_20_sessions,
    floor_turns_per_s: round(sum / floors.length, 1),
  };
}

async function perSecond(driver: Driver, kind: TurnKind, each: number): Promise<number> {
  const start = performance.now();
  const sessions = Array.from({ length: sessionsAtOnce }, (_, session) =>
    oneByOne(driver, kind, each, `load-${kind}-${session}`, 1),
  );
  await Promise.all(sessions);
  return round((sessionsAtOnce * each * 1000) / (performance.now() - start), 1);
}

/** The median of each quarter of one session's turns, by its number of messages at that point. */
function growth(marks: readonly DriverMarks[]): Record<string, number> {
  const parts: Record<string, number> = {};
  for (const share of [0.25, 0.5, 0.75, 1]) {
    const end = Math.floor(marks.length * share);
    const part = marks.slice(Math.floor(marks.length * (share - 0.25)), end);
    parts[`to_${end * 2}_messages_p50_ms`] = totals(part).p50;
  }
  return parts;
}
