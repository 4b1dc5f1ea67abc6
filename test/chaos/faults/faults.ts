import { drawFor } from "../draw.ts";
import { type RawResponse, refusalOf } from "../verdict/refusals.ts";
import type { Worker } from "./host.ts";
import type { Interceptor, SeenCall } from "./proxy.ts";

/** The number of faults of each kind. */
export type FaultCounts = Record<
  | "kills"
  | "refusals"
  | "outages"
  | "lostAnswers"
  | "delays"
  | "stalls"
  | "duplicates"
  | "lateEvents"
  | "lostDisconnects",
  number
>;

/** Random faults, drawn from the seed for each call and event. */
export interface Faults {
  interceptor: Interceptor;
  counts: FaultCounts;
  /** Whether Lambda delivers an event twice. */
  duplicate(functionName: string, event: unknown): boolean;
  /** How long Lambda holds an event back. */
  delayMs(functionName: string, event: unknown): number;
  /** Whether the functions miss the end of a connection. */
  losesDisconnect(): boolean;
  /** Kills an agent's process, unless its step was already hit often enough. */
  killAgent(worker: Worker): void;
  /** Call when a session's turn has made progress: its agent may be hit again. */
  progress(sessionKey: string): void;
  /** Ends all faults, so that running work can finish. */
  stop(): void;
}

/** Probabilities for one call, all attempts of the SDK together. */
const chances = {
  killBefore: 0.03,
  killAfter: 0.03,
  refuse: 0.02,
  outage: 0.01,
  loseAnswer: 0.02,
  loseEveryAnswer: 0.005,
  delay: 0.04,
  stall: 0.006,
};

/** Hits per step of a turn. The agent gives a step up at the eighth interruption, and a slow machine must not cause that one. */
const hitsPerStep = 4;

/** A process that is cut off returns after its lease has expired, usually when another one has acquired the session. */
const pastTheLeaseMs = 32_000;

type Fate = { kind: keyof typeof chances | "none"; ms: number };

/** @param kills the number of processes to kill; all faults end with the last one */
export function openFaults(seed: number, kills: number): Faults {
  const counts: FaultCounts = {
    kills: 0,
    refusals: 0,
    outages: 0,
    lostAnswers: 0,
    delays: 0,
    stalls: 0,
    duplicates: 0,
    lateEvents: 0,
    lostDisconnects: 0,
  };
  const seen = new Map<string, number>();
  const fates = new Map<string, Fate>();
  const hits = new Map<string, number>();
  const stalls = new Map<Worker, number>();
  let stopped = false;

  /** Counts the things of one name, from 0. */
  const numberOf = (name: string): number => {
    const number = seen.get(name) ?? 0;
    seen.set(name, number + 1);
    return number;
  };
  /** Whether to interrupt a turn's agent here. Counts as a hit if true. */
  const mayInterrupt = ({ functionName }: Worker, sessionKey: string): boolean => {
    if (functionName !== "agent") return true;
    const before = hits.get(sessionKey) ?? 0;
    if (before >= hitsPerStep) return false;
    hits.set(sessionKey, before + 1);
    return true;
  };
  const kill = (worker: Worker): void => {
    if (worker.killed) return;
    worker.kill();
    counts.kills += 1;
    if (counts.kills >= kills) stopped = true;
  };
  /** All attempts of one call get the same fate. */
  const fateOf = (call: SeenCall): Fate => {
    const known = fates.get(call.invocationId);
    if (known) return known;
    const name = `${call.worker.functionName} ${call.sessionKey} ${call.label}`;
    const draw = drawFor(seed, "call", name, numberOf(name));
    const kind = (Object.keys(chances) as (keyof typeof chances)[]).find((one) => draw.chance(chances[one]));
    const fate: Fate = { kind: kind ?? "none", ms: draw.between(0, 6000) };
    if (call.invocationId !== "") fates.set(call.invocationId, fate);
    return fate;
  };
  const refuse = (call: SeenCall): RawResponse =>
    refusalOf(call, drawFor(seed, "refusal", call.label, numberOf(`refusal ${call.label}`)));

  const interceptor: Interceptor = {
    async before(call) {
      await stalled(stalls, call.worker);
      if (stopped) return "pass";
      const fate = fateOf(call);
      const { worker, sessionKey, attempt } = call;
      if (fate.kind === "killBefore" && attempt === 1 && mayInterrupt(worker, sessionKey)) {
        kill(worker);
        return "drop";
      }
      if (fate.kind === "outage" && (attempt > 1 || mayInterrupt(worker, sessionKey))) {
        counts.outages += attempt === 1 ? 1 : 0;
        return refuse(call);
      }
      if (fate.kind === "refuse" && attempt === 1) {
        counts.refusals += 1;
        return refuse(call);
      }
      if (fate.kind === "delay" && attempt === 1) {
        counts.delays += 1;
        await new Promise((resolve) => setTimeout(resolve, fate.ms));
      }
      if (fate.kind === "stall" && attempt === 1 && mayInterrupt(worker, sessionKey)) {
        counts.stalls += 1;
        stalls.set(worker, Date.now() + pastTheLeaseMs + 9 * fate.ms);
        await stalled(stalls, worker);
      }
      return "pass";
    },
    async after(call) {
      if (stopped) return "deliver";
      const fate = fateOf(call);
      const { worker, sessionKey, attempt } = call;
      if (fate.kind === "killAfter" && attempt === 1 && mayInterrupt(worker, sessionKey)) {
        kill(worker);
        return "drop";
      }
      const isLost =
        (fate.kind === "loseAnswer" && attempt === 1) ||
        (fate.kind === "loseEveryAnswer" && (attempt > 1 || mayInterrupt(worker, sessionKey)));
      if (isLost) {
        counts.lostAnswers += 1;
        return fate.ms < 3000 ? "drop" : refuse(call);
      }
      return "deliver";
    },
  };
  const drawEvent = (kind: string, functionName: string, event: unknown) => {
    const name = `${kind} ${functionName} ${JSON.stringify(event)}`;
    return drawFor(seed, name, numberOf(name));
  };
  return {
    interceptor,
    counts,
    duplicate(functionName, event) {
      const twice = !stopped && drawEvent("duplicate", functionName, event).chance(0.08);
      counts.duplicates += twice ? 1 : 0;
      return twice;
    },
    delayMs(functionName, event) {
      const draw = drawEvent("late", functionName, event);
      if (stopped || !draw.chance(0.1)) return 0;
      counts.lateEvents += 1;
      return draw.between(100, 30_000);
    },
    losesDisconnect() {
      const lost = !stopped && drawFor(seed, "disconnect", numberOf("disconnect")).chance(0.2);
      counts.lostDisconnects += lost ? 1 : 0;
      return lost;
    },
    killAgent(worker) {
      if (!stopped && mayInterrupt(worker, worker.task.sessionKey)) kill(worker);
    },
    progress: (sessionKey) => hits.delete(sessionKey),
    stop() {
      stopped = true;
    },
  };
}

/** Holds the calls of a process that is cut off from AWS until its time is over. */
async function stalled(stalls: Map<Worker, number>, worker: Worker): Promise<void> {
  const until = stalls.get(worker);
  if (until === undefined) return;
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, until - Date.now())));
  stalls.delete(worker);
}
