import { drawFor } from "../draw.ts";
import { openFaults } from "../faults/faults.ts";
import { drawPlan, type MessagePlan } from "../faults/plan.ts";
import type { Setting } from "../setting.ts";
import type { ChaosResult } from "../verdict/report.ts";
import { sweepOften, untilQuiet } from "../verdict/settle.ts";
import { judge, type Verdict } from "../verdict/verdict.ts";
import { startWorld, type World } from "../world.ts";
import { untilFound } from "./peer.ts";

/** Sessions that run in parallel: more for more kills, so that waits for leases overlap. */
const concurrentSessions = (kills: number) => Math.max(2, Math.min(24, Math.ceil(kills / 8)));
/** Share of the sessions that are chats of the channel, chosen by their number. */
const chatShare = 0.3;
const firstChat = 10_000;
/** Messages of a session. */
const messagesPerSession = [3, 4, 5, 6] as const;

/** Agents wait for providers, so more of them fit on a machine. */
const maxProcesses = (functionName: string) => (functionName === "agent" ? 24 : 6);

/** Maximum concurrent invocations: few enough that some are throttled, as in a new account, which has ten. */
const concurrencyFor = (sessions: number) => sessions + 2;
/** API Gateway ends connections after two hours; a run lasts minutes. Milliseconds. */
const connectionAgeMs = 10 * 60_000;

/** Maximum error of a process's clock, in either direction. Milliseconds. */
const maxSkewMs = 10_000;
/**
 * After the last fault, everything must become idle within this time, and then peers must reconnect. An interrupted step may
 * wait for 16 minutes. Milliseconds.
 */
const settleMs = 1_500_000;
const reconnectMs = 120_000;

/**
 * Runs sessions under load with random faults of every kind until the given number of processes has been killed.
 * @param setting.deadline when to give up, by the clock of the run
 */
export async function runLoad(setting: Setting, kills: number): Promise<ChaosResult> {
  const { seed, say } = setting;
  const plans = new Map<string, MessagePlan>();
  const planOf = (tag: string) => {
    const plan = plans.get(tag) ?? drawPlan(seed, tag, 1);
    plans.set(tag, plan);
    return plan;
  };
  const faults = openFaults(seed, kills);
  const world = await startWorld({
    ...setting,
    interceptor: faults.interceptor,
    invocations: { duplicate: faults.duplicate, delayMs: faults.delayMs },
    cloud: {
      concurrency: concurrencyFor(concurrentSessions(kills)),
      limits: { connectionMs: connectionAgeMs },
      losesDisconnect: faults.losesDisconnect,
    },
    skewMs: (worker) => Math.round(drawFor(seed, "skew", worker).between(-maxSkewMs, maxSkewMs)),
    restless: true,
    isFresh: () => false,
    maxProcesses,
    clients: 3,
    planOf,
    repeats: (tag) => {
      const draw = drawFor(seed, "repeat", tag);
      return draw.chance(0.15) ? draw : undefined;
    },
    onKillInCall(sessionKey, host) {
      for (const worker of host.working("agent", sessionKey)) faults.killAgent(worker);
    },
    onProgress: faults.progress,
  });
  const endSweeps = sweepOften(world);
  const cuts = () => world.wires.reduce((sum, wire) => sum + wire.cuts(), 0);
  const progress = setInterval(() => {
    const { kills: killed } = faults.counts;
    say(
      `${killed} of ${kills} kills, ${world.records.size} messages, ${world.model.count()} model calls, ${cuts()} cuts`,
    );
  }, 60_000);
  let kept = true;
  try {
    await sendUntil(world, setting, concurrentSessions(kills), () => faults.counts.kills >= kills);
    faults.stop();
    for (const wire of world.wires) wire.calm();
    world.channel.calm();
    await untilQuiet(world, settleMs);
    const verdict = await judgeWorld(world, planOf);
    kept =
      setting.keep ||
      world.host.crashes().length > 0 ||
      Object.values(verdict.findings).some((found) => found.length > 0);
    return {
      verdict,
      crashes: world.host.crashes(),
      counts: {
        ...faults.counts,
        cuts: cuts(),
        throttled: world.cloud.throttled(),
        turnsOutOfTime: world.host.turnsOutOfTime(),
        slowestStartSeconds: Math.round(world.host.slowestStartMs() / 1000),
      },
      ...(kept ? { logFile: world.logFile } : {}),
    };
  } finally {
    clearInterval(progress);
    endSweeps();
    await world.close(kept);
  }
}

/** Judges the records of the table, the model, the nodes and the clients. */
export async function judgeWorld(world: World, planOf: (tag: string) => MessagePlan): Promise<Verdict> {
  const { table, journal, records } = world;
  const carriedOut = world.nodes.flatMap((node) => node.carriedOut);
  const deliveries = { sent: world.channel.sent, uncertain: world.uncertain };
  const verdict = await judge({ table, journal, records, planOf, carriedOut, deliveries });
  verdict.findings.invalidTranscripts.push(...world.model.faults());
  const peers = [...world.clients, ...world.nodes];
  verdict.findings.stuck.push(...peers.flatMap(({ ends }) => ends));
  verdict.findings.stuck.push(...(await untilFound(table, peers, reconnectMs)));
  verdict.findings.leftOver.push(...(await world.leftovers()));
  return verdict;
}

async function sendUntil(
  world: World,
  { seed, deadline }: Setting,
  concurrent: number,
  enough: () => boolean,
): Promise<void> {
  let next = 0;
  const slot = async () => {
    while (!enough()) await sendSession(world, seed, next++);
  };
  const work = Promise.all(Array.from({ length: concurrent }, slot));
  await within(
    work,
    deadline,
    () => `gave up: ${world.records.size} messages were sent and some have no end`,
  );
}

/**
 * One session: a few messages, some sent while earlier ones are running, from any client or from a chat of the channel.
 */
async function sendSession({ clients, channel }: World, seed: number, number: number): Promise<void> {
  const name = `s${String(number).padStart(4, "0")}`;
  const draw = drawFor(seed, "session", name);
  const ends: Promise<void>[] = [];
  const messages = draw.pick(messagesPerSession);
  const isChat = draw.chance(chatShare);
  const send = (tag: string) =>
    isChat ? channel.send(firstChat + number, tag) : draw.pick(clients).send(`agent:main:${name}`, tag);
  for (let i = 0; i < messages; i++) {
    ends.push(send(`${name}-m${i}`));
    if (draw.chance(0.5)) await Promise.all(ends);
    else await new Promise((resolve) => setTimeout(resolve, draw.between(0, 15_000)));
  }
  await Promise.all(ends);
}

/** @throws Error with `what` at the deadline */
export async function within<T>(work: Promise<T>, deadline: number, what: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(what())), deadline - Date.now());
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
