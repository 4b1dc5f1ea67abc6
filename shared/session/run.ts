import { type Step, set } from "../world/expression.ts";
import type { InboxEntry, Origin, Overrides } from "./inbox-entry.ts";

/** A call that a node has been asked to do and has not answered. */
export interface PendingCall {
  nodeId: string;
  tool: string;
}

/**
 * The whole program counter of a turn. `model`: the provider is to be called. `tools`: calls are out, or their results
 * are to be collected. `reply`: the answer, or why there is none, is committed and is to be delivered.
 * Build one with the functions below only.
 */
export interface Run {
  /** The id of the message that began it. */
  runId: string;
  phase: "model" | "tools" | "reply";
  /** Model calls of this run that are complete. */
  step: number;
  /** Times this step was started; more than 1 only after a crash, 0 while it is still to be. */
  attempt: number;
  /** Epoch ms. */
  startedAt: number;
  origin: Origin;
  overrides?: Overrides;
  pending: Record<string, PendingCall>;
  pendingCount: number;
  /** Small results of this step's calls, as JSON, by call id; larger ones are items of their own. */
  results?: Record<string, string>;
  resultBytes?: number;
  /** When pending calls count as timed out; epoch ms. */
  deadline?: number;
  /** Calls that were pending at the deadline. A result that comes later is not used. */
  timedOut?: string[];
  /** Why the run has failed: delivered instead of an answer, in phase `reply`. */
  failure?: string;
  /** How the model call of this step was made smaller: by a compaction, or because the provider refused it as too long. */
  shrunk?: "compacted" | "refused";
}

/**
 * The run that a message begins, before its first model call.
 * @param attempt 0 when the model is called in a later step of the session, 1 when it is called at once
 */
export function newRun(entry: Extract<InboxEntry, { kind: "message" }>, attempt: 0 | 1, now: number): Run {
  const { id, origin, overrides } = entry;
  return {
    runId: id,
    phase: "model",
    step: 0,
    attempt,
    startedAt: now,
    origin,
    ...(overrides ? { overrides } : {}),
    pending: {},
    pendingCount: 0,
  };
}

/** The run with its current step started once more. */
export function triedAgain(run: Run): Run {
  return { ...run, attempt: run.attempt + 1 };
}

/**
 * The run after the model has called tools.
 * @param pending the calls that nodes are to answer, by call id
 * @param deadline epoch ms
 */
export function waitingFor(run: Run, pending: Record<string, PendingCall>, deadline: number): Run {
  return {
    ...run,
    phase: "tools",
    attempt: 1,
    pending,
    pendingCount: Object.keys(pending).length,
    results: {},
    resultBytes: 0,
    deadline,
  };
}

/** The run after the results of its calls were collected: the model is called with them. */
export function nextStep({ runId, startedAt, origin, overrides, step }: Run): Run {
  return {
    runId,
    startedAt,
    origin,
    ...(overrides ? { overrides } : {}),
    phase: "model",
    step: step + 1,
    attempt: 1,
    pending: {},
    pendingCount: 0,
  };
}

/** The run after the model has answered: the answer is to be delivered. */
export function answered(run: Run): Run {
  return { ...run, phase: "reply", attempt: 1 };
}

/** The run after it has failed: `failure` is to be delivered. */
export function failed(run: Run, failure: string): Run {
  return { ...run, phase: "reply", attempt: 1, failure };
}

/** Steps by which this step's model call is made again, smaller; the call that was too large does not count as a crash. */
export function shrinkSteps({ attempt }: Run, shrunk: NonNullable<Run["shrunk"]>): Step[] {
  return [set(["run", "attempt"], attempt - 1), set(["run", "shrunk"], shrunk)];
}

/** Names a step of a run. */
export function stepName({ runId, step }: Run): string {
  return `${runId}/${step}`;
}
