import type { MessagePlan } from "./faults/plan.ts";
import { type Executioner, openExecutioner, type Point } from "./faults/points.ts";
import { judgeWorld, within } from "./load/load.ts";
import type { Setting } from "./setting.ts";
import type { ChaosResult } from "./verdict/report.ts";
import { sweepOften, untilQuiet } from "./verdict/settle.ts";
import { startWorld, type World } from "./world.ts";

/** A turn: the tool calls of its rounds, and the sender of its message. */
interface Shape {
  rounds: MessagePlan["rounds"];
  from: "client" | "chat";
}

/**
 * The turns with two tool calls whose every AWS call is a point: in parallel on two nodes, one after the other, with
 * one that times out, and started in a chat of the channel.
 */
const shapes: Record<string, Shape> = {
  together: { rounds: [[work("alpha"), work("beta")]], from: "client" },
  apart: { rounds: [[work("alpha")], [work("beta")]], from: "client" },
  timeout: { rounds: [[work("alpha"), { ...work("beta"), silent: true }]], from: "client" },
  chat: { rounds: [[work("alpha"), work("beta")]], from: "chat" },
};

/** Turns that run in parallel. */
const concurrentTurns = 8;
/** The last calls of a turn follow its answer within this time. Milliseconds. */
const afterAnswerMs = 5000;
/** Maximum number of turns for a point. A turn can miss its point when a result arrives early. */
const tries = 6;
/** After the last answer, everything must become idle within this time. Milliseconds. */
const settleMs = 600_000;

function work(nodeId: string): MessagePlan["rounds"][number][number] {
  return { nodeId, workMs: 0 };
}

/**
 * For every AWS call of an uninterrupted turn, kills the process that makes it, once before the call arrives and once
 * after it was carried out: one turn for each point. Every invocation is a cold start, so the calls of cold processes
 * are included.
 * @param every only every n-th point
 */
export async function runEnumeration(setting: Setting, every: number): Promise<ChaosResult> {
  const executioner = openExecutioner();
  const plans = new Map<string, MessagePlan>();
  const planOf = (tag: string) => plans.get(tag) ?? planWith(tag, []);
  const world = await startWorld({
    ...setting,
    interceptor: executioner.interceptor,
    skewMs: () => 0,
    restless: false,
    isFresh: ({ sessionKey, occasion }) => sessionKey !== "" && !isLookup(occasion),
    maxProcesses: () => 12,
    clients: 1,
    planOf,
    repeats: () => undefined,
    onKillInCall: () => undefined,
    onProgress: () => undefined,
  });
  const turns = openTurns(world, executioner, plans);
  const endSweeps = sweepOften(world);
  let kept = true;
  try {
    const points = await findPoints(setting, turns, every);
    const missed = await within(
      hitAll(setting, turns, points),
      setting.deadline,
      () => "gave up: the points took too long",
    );
    await untilQuiet(world, settleMs);
    const verdict = await judgeWorld(world, planOf);
    for (const point of missed) setting.say(`not reached: ${point.moment} ${point.call}`);
    kept =
      setting.keep ||
      world.host.crashes().length > 0 ||
      missed.length > 0 ||
      Object.values(verdict.findings).some((found) => found.length > 0);
    const counts = { kills: executioner.kills(), points: points.length, missed: missed.length };
    return { verdict, crashes: world.host.crashes(), counts, ...(kept ? { logFile: world.logFile } : {}) };
  } finally {
    endSweeps();
    await world.close(kept);
  }
}

/** Runs turns, each in its own session. */
interface Turns {
  /** @returns the session's key, once the sender knows how the turn ended and the point was hit */
  run(shape: Shape, point?: Point): Promise<string>;
  callsOf(sessionKey: string): string[];
  hasHit(sessionKey: string): boolean;
}

function openTurns(world: World, executioner: Executioner, plans: Map<string, MessagePlan>): Turns {
  let number = 0;
  return {
    async run({ rounds, from }, point) {
      const chat = number++;
      const name = `e${chat}`;
      const sessionKey = from === "chat" ? world.channel.sessionOf(chat) : `agent:main:${name}`;
      const tag = `${name}-m0`;
      plans.set(tag, planWith(tag, rounds));
      if (point) executioner.aim(sessionKey, point);
      if (from === "chat") await world.channel.send(chat, tag);
      else await world.clients[0]?.send(sessionKey, tag);
      const until = Date.now() + afterAnswerMs;
      while (!executioner.hasHit(sessionKey) && Date.now() < until) await pause(200);
      return sessionKey;
    },
    callsOf: executioner.callsOf,
    hasHit: executioner.hasHit,
  };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function planWith(tag: string, rounds: MessagePlan["rounds"]): MessagePlan {
  return { tag, rounds, pieceMs: 0, killInCall: false };
}

type Target = Point & { shape: Shape };

/** The calls of one uninterrupted turn of each shape. */
async function findPoints({ say }: Setting, turns: Turns, every: number): Promise<Target[]> {
  const found: Target[] = [];
  for (const [name, shape] of Object.entries(shapes)) {
    const calls = turns.callsOf(await turns.run(shape)).filter(isOfTurn);
    say(`a turn "${name}" makes ${calls.length} AWS calls`);
    for (const call of calls)
      for (const moment of ["before", "after"] as const) found.push({ call, moment, shape });
  }
  return found.filter((_, i) => i % every === 0);
}

/** Excludes calls caused by the clock (a renewal of the lease, a sweep) and by a client's lookups. */
function isOfTurn(call: string): boolean {
  return !/\(epoch,leaseUntil,owner\)|^timer sweep|^socket session\./.test(call);
}

/** A waiting client asks for the state of its session. */
function isLookup(occasion: string): boolean {
  return occasion.startsWith("session.");
}

/** @returns the points that no turn reached */
async function hitAll({ say }: Setting, turns: Turns, points: readonly Target[]): Promise<Target[]> {
  let left = points;
  for (let round = 0; round < tries && left.length > 0; round++) {
    const missed: Target[] = [];
    const waiting = [...left];
    const slot = async () => {
      for (let point = waiting.shift(); point; point = waiting.shift()) {
        if (!turns.hasHit(await turns.run(point.shape, point))) missed.push(point);
        if (waiting.length % 20 === 0) say(`${waiting.length} of ${left.length} points are left`);
      }
    };
    await Promise.all(Array.from({ length: concurrentTurns }, slot));
    left = missed;
  }
  return [...left];
}
