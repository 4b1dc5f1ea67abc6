import { randomUUID } from "node:crypto";

/** Time for which an answered program needs no new probe, in milliseconds. */
const freshMs = 5 * 60_000;

/** Time limit of a probe, and the bounds of one that a client asks for, in milliseconds. */
const defaultTimeoutMs = 15_000;
const timeoutBounds = { least: 1000, most: 120_000 };

/** Times that a probe is sent on one connection. */
const maxAttempts = 2;

/** Most programs that a node is asked for, and most whose answers are kept. */
const maxBins = 500;
const maxKnown = 1000;

/** Bounds of `timeouts.skillProbeMaxAgeMs`, in milliseconds. */
const maxAgeBounds = { least: 1000, most: 24 * 3_600_000 };

/** Whether a text can be the name of a program that a probe asks for. */
export function isBinName(name: string): boolean {
  return /^[A-Za-z0-9._+-]{1,100}$/.test(name) && name !== "__proto__";
}

/** A question that a node has not answered. Times are epoch ms. */
export interface PendingProbe {
  probeId: string;
  bins: string[];
  timeoutMs: number;
  createdAt: number;
  sentAt: number;
  /** How often it was sent on the node's present connection. */
  attempts: number;
}

/** What is known of a node's programs, and what it was asked. */
export interface NodeBins {
  /** Answers by program: whether the node has it, and when it said so. */
  known: Record<string, { has: boolean; at: number }>;
  pending: PendingProbe[];
  /** Number of answers so far. */
  answers: number;
  /** Increased with each change. 0: nothing is stored. */
  version: number;
}

export const nothingKnown: NodeBins = { known: {}, pending: [], answers: 0, version: 0 };

export interface ProbeOptions {
  /** Ask also for programs whose answer is fresh. */
  force?: boolean;
  /** Time limit of a new probe; one outside of 1 s to 120 s counts as the nearest of them. */
  timeoutMs?: number;
  /** The node has connected anew: what it was asked before is sent again. */
  isNewConnection?: boolean;
  /** Age after which a probe is given up, also when its node was away: `timeouts.skillProbeMaxAgeMs`. */
  maxAgeMs: number;
  /** Epoch ms. */
  now: number;
}

/**
 * Decides what a node is to be asked: the wanted programs of which no answer is fresh and no probe is pending, and
 * again what it has not answered in time, or was asked before it connected anew.
 * @returns `send`: the probes to send; `next` is the same object when there is nothing to store
 */
export function planProbes(
  bins: NodeBins,
  wanted: readonly string[],
  options: ProbeOptions,
): { next: NodeBins; send: PendingProbe[] } {
  const { force = false, isNewConnection = false, now } = options;
  const { pending, again } = overdue(bins.pending, isNewConnection, options);
  const asked = new Set(pending.flatMap((probe) => probe.bins));
  const isFresh = (name: string) =>
    Object.hasOwn(bins.known, name) && now - (bins.known[name]?.at ?? 0) < freshMs;
  const open = wanted.filter((name) => !asked.has(name) && (force || !isFresh(name))).slice(0, maxBins);
  const send = [...again];
  if (open.length > 0) {
    const timeoutMs = within(options.timeoutMs ?? defaultTimeoutMs, timeoutBounds);
    send.push({ probeId: randomUUID(), bins: open, timeoutMs, createdAt: now, sentAt: now, attempts: 1 });
  }
  if (send.length === 0 && pending.length === bins.pending.length) return { next: bins, send };
  const waiting = pending.filter((probe) => !again.some(({ probeId }) => probeId === probe.probeId));
  return { next: { ...bins, pending: [...waiting, ...send], version: bins.version + 1 }, send };
}

/** The probes that are not given up, and those of them that are to be sent again, as they are then. */
function overdue(
  probes: readonly PendingProbe[],
  isNewConnection: boolean,
  { now, maxAgeMs }: ProbeOptions,
): { pending: PendingProbe[]; again: PendingProbe[] } {
  const maxAge = within(maxAgeMs, maxAgeBounds);
  const isLate = (probe: PendingProbe) => now >= probe.sentAt + probe.timeoutMs;
  const pending = probes.filter((probe) => {
    if (now - probe.createdAt >= maxAge) return false;
    return isNewConnection || !isLate(probe) || probe.attempts < maxAttempts;
  });
  const again = pending
    .filter((probe) => isNewConnection || isLate(probe))
    .map((probe) => ({ ...probe, sentAt: now, attempts: isNewConnection ? 1 : probe.attempts + 1 }));
  return { pending, again };
}

/** A node's answer, unchecked. */
export interface ProbeAnswer {
  ok: boolean;
  bins?: Record<string, unknown>;
}

/**
 * Takes an answer: of the programs that were asked for, those that it says are there are there, and the others are not.
 * A failed probe stays pending until its time is over.
 * @returns undefined when no such probe is pending: it was answered before, given up, or never sent
 */
export function takeAnswer(
  bins: NodeBins,
  probeId: string,
  answer: ProbeAnswer,
  now: number,
): NodeBins | undefined {
  const probe = bins.pending.find((one) => one.probeId === probeId);
  if (!probe) return undefined;
  if (!answer.ok) return bins;
  const told = answer.bins ?? {};
  const found = probe.bins.map((name) => {
    const has = Object.hasOwn(told, name) && told[name] === true;
    return [name, { has, at: now }] as const;
  });
  const known = Object.entries({ ...bins.known, ...Object.fromEntries(found) })
    .sort(([, a], [, b]) => b.at - a.at)
    .slice(0, maxKnown);
  const pending = bins.pending.filter((one) => one !== probe);
  const { answers, version } = bins;
  return { known: Object.fromEntries(known), pending, answers: answers + 1, version: version + 1 };
}

/** The answers as a node's `nodeRuntime` holds them; `hostBinStatusUpdatedAt` is absent without any. */
export function binStatus({ known }: NodeBins): {
  hostBinStatus: Record<string, boolean>;
  hostBinStatusUpdatedAt?: number;
} {
  const answers = Object.entries(known);
  const hostBinStatus = Object.fromEntries(answers.map(([name, { has }]) => [name, has]));
  if (answers.length === 0) return { hostBinStatus };
  return { hostBinStatus, hostBinStatusUpdatedAt: Math.max(...answers.map(([, { at }]) => at)) };
}

function within(value: number, { least, most }: { least: number; most: number }): number {
  return Math.min(most, Math.max(least, value));
}
