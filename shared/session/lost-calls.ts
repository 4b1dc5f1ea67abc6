import { add, all, equal, exists, remove, set } from "../world/expression.ts";
import { ConditionFailed, type Table } from "../world/world.ts";
import { dueItems } from "./due.ts";
import type { PendingCall, Run } from "./run.ts";
import { readSession } from "./sessions.ts";
import { metaKey, type SessionState, toState } from "./state.ts";

const unknownOutcome = "it may have run, or may still be running: the outcome is unknown";

/**
 * Why a call will get no result from its node, for the model; undefined if it may still get one. A node that names no
 * process may be the same one after every connect.
 * @param process of the call (`PendingCall`)
 * @param node the node as it is connected now
 */
export function whyLost(
  process: string | undefined,
  node: { instance?: string } | undefined,
): string | undefined {
  if (process === undefined) return undefined;
  if (!node) return `the machine disconnected during the call and did not return; ${unknownOutcome}`;
  const isOther = process !== "" && node.instance !== undefined && node.instance !== process;
  return isOther ? `the node on the machine restarted during the call; ${unknownOutcome}` : undefined;
}

/** The calls of a run's step that a node's process runs. */
export interface NodeCalls extends Pick<Run, "runId" | "step"> {
  sessionKey: string;
  /** By call id. */
  calls: Record<string, PendingCall>;
}

/** Max sessions that are read in parallel. */
const maxParallel = 50;

/** The calls that a node is running, of all sessions. Those of the last moment may be missing: an index lists the sessions. */
export async function callsOfNode(table: Table, nodeId: string): Promise<NodeCalls[]> {
  const keys: string[] = [];
  for await (const page of dueItems(table, Number.MAX_SAFE_INTEGER))
    keys.push(...page.flatMap(({ pk }) => (pk.startsWith("S#") ? [pk.slice("S#".length)] : [])));
  const found: NodeCalls[] = [];
  for (let start = 0; start < keys.length; start += maxParallel) {
    const chunk = keys.slice(start, start + maxParallel);
    const states = await Promise.all(chunk.map((sessionKey) => readSession(table, sessionKey)));
    for (const state of states) {
      if (state?.run?.phase !== "tools") continue;
      const { sessionKey, run } = state;
      const isOfNode = ([, call]: [string, PendingCall]) =>
        call.nodeId === nodeId && call.process !== undefined;
      const calls = Object.entries(run.pending).filter(isOfNode);
      if (calls.length > 0)
        found.push({ sessionKey, runId: run.runId, step: run.step, calls: Object.fromEntries(calls) });
    }
  }
  return found;
}

/**
 * Gives calls that are still pending an error as their result. A later result of the node is dropped.
 * @param errors by call id
 * @returns the session, for `needsAgent`; undefined if the run waits for none of the calls
 */
export async function endCalls(
  table: Table,
  { sessionKey, runId, step }: Omit<NodeCalls, "calls">,
  errors: Readonly<Record<string, string>>,
): Promise<SessionState | undefined> {
  for (;;) {
    const run = (await readSession(table, sessionKey))?.run;
    if (run?.runId !== runId || run.step !== step || run.phase !== "tools") return undefined;
    // A run of an earlier version may lack the attribute.
    if (run.resultBytes === undefined) return undefined;
    const bodies = Object.entries(errors).flatMap(([id, error]): [string, string][] =>
      Object.hasOwn(run.pending, id) ? [[id, JSON.stringify({ error })]] : [],
    );
    if (bodies.length === 0) return undefined;
    const steps = bodies.flatMap(([id, body]) => [
      set(["run", "results", id], body),
      remove(["run", "pending", id]),
    ]);
    const bytes = bodies.reduce((sum, [, body]) => sum + Buffer.byteLength(body), 0);
    const counted = [add(["run", "resultBytes"], bytes), add(["run", "pendingCount"], -bodies.length)];
    const pending = bodies.map(([id]) => exists(["run", "pending", id]));
    const isWaiting = all(equal(["run", "runId"], runId), equal(["run", "step"], step), ...pending);
    try {
      return toState(await table.update(metaKey(sessionKey), [...steps, ...counted], isWaiting));
    } catch (error) {
      if (!(error instanceof ConditionFailed)) throw error;
    }
  }
}
