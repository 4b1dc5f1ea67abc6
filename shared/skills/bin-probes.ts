import { randomUUID } from "node:crypto";

/** How long an answer stays fresh, in milliseconds. */
const freshMs = 5 * 60_000;

/** Default time limit of a probe, and the bounds of a requested one, in milliseconds. */
const defaultTimeoutMs = 15_000;
const timeoutBounds = { min: 1000, max: 120_000 };

/** How often a probe is sent on one connection. */
const maxAttempts = 2;

/** Maximum number of programs in one probe, and of stored answers. */
const maxBins = 500;
const maxKnown = 1000;

/** Bounds of `timeouts.skillProbeMaxAgeMs`, in milliseconds. */
const maxAgeBounds = { min: 1000, max: 24 * 3_600_000 };

/** Whether a text is a valid program name for a probe. */
export function isBinName(name: string): boolean {
  return /^[A-Za-z0-9._+-]{1,100}$/.test(name) && name !== "__proto__";
}

/** A probe that a node has not answered. Times are epoch ms. */
export interface PendingProbe {
  probeId: string;
  bins: string[];
  timeoutMs: number;
  createdAt: number;
  sentAt: number;
  /** How often it was sent on the node's current connection. */
  attempts: number;
}

/** The known programs of a node, and its pending probes. */
export interface NodeBins {
  /** Answers by program: whether the node has it, and the time of the answer. */
  known: Record<string, { has: boolean; at: number }>;
  pending: PendingProbe[];
  /** Number of answers so far. */
  answers: number;
  /** Incremented by each change. 0: nothing is stored. */
  version: number;
}

export const nothingKnown: NodeBins = { known: {}, pending: [], answers: 0, version: 0 };

export interface ProbeOptions {
  /** Also ask for programs with a fresh answer. */
  force?: boolean;
  /** Time limit of a new probe, clamped to 1 s to 120 s. */
  timeoutMs?: number;
  /** The node has just connected: pending probes are sent again. */
  isNewConnection?: boolean;
  /** Age after which a probe is given up, also while its node is not connected: `timeouts.skillProbeMaxAgeMs`. */
  maxAgeMs: number;
  /** Epoch ms. */
  now: number;
}

/**
 * Decides which probes to send to a node: one for the wanted programs without a fresh answer or a pending probe, and again
 * those that it did not answer in time or received on an earlier connection.
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

/** The probes that are not given up, and updated copies of those to send again. */
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
 * Applies an answer: programs of the probe that it reports as present are present, all others absent. A failed probe stays
 * pending until its timeout.
 * @returns undefined when no such probe is pending: it was answered before, given up, or never sent
 */
export function applyAnswer(
  bins: NodeBins,
  probeId: string,
  answer: ProbeAnswer,
  now: number,
): NodeBins | undefined {
  const probe = bins.pending.find((one) => one.probeId === probeId);
  if (!probe) return undefined;
  if (!answer.ok) return bins;
  const reported = answer.bins ?? {};
  const found = probe.bins.map((name) => {
    const has = Object.hasOwn(reported, name) && reported[name] === true;
    return [name, { has, at: now }] as const;
  });
  const known = Object.entries({ ...bins.known, ...Object.fromEntries(found) })
    .sort(([, a], [, b]) => b.at - a.at)
    .slice(0, maxKnown);
  const pending = bins.pending.filter((one) => one !== probe);
  const { answers, version } = bins;
  return { known: Object.fromEntries(known), pending, answers: answers + 1, version: version + 1 };
}

/** The answers in the format of `nodeRuntime`; `hostBinStatusUpdatedAt` is absent when there are none. */
export function binStatus({ known }: NodeBins): {
  hostBinStatus: Record<string, boolean>;
  hostBinStatusUpdatedAt?: number;
} {
  const answers = Object.entries(known);
  const hostBinStatus = Object.fromEntries(answers.map(([name, { has }]) => [name, has]));
  if (answers.length === 0) return { hostBinStatus };
  return { hostBinStatus, hostBinStatusUpdatedAt: Math.max(...answers.map(([, { at }]) => at)) };
}

function within(value: number, { min, max }: { min: number; max: number }): number {
  return Math.min(max, Math.max(min, value));
}
