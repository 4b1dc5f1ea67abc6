import { LRUCache } from "lru-cache";
import { jsonBytes } from "./text-ends.ts";

/** The outcome of a tool call: the params of `tool.result` without the callId. */
export type Outcome = { result: unknown } | { error: string };

/** Limits of the log: number of finished calls, and total bytes of their outcomes. */
const keptCalls = 1000;
const keptBytes = 32 * 1024 * 1024;

/**
 * Tool calls received by a node, so that none runs twice. The gateway resends a call when it does not know
 * whether the node received it. Drops the oldest finished calls above 1,000 calls or 32 MB of outcomes.
 */
export class CallLog {
  readonly #running = new Set<string>();
  readonly #finished = new LRUCache<string, Outcome>({
    max: keptCalls,
    maxSize: keptBytes,
    sizeCalculation: (outcome) => jsonBytes(outcome),
  });

  /**
   * Registers a call. `new`: the caller must run it. `running`: it is already running. Otherwise: its
   * outcome.
   */
  claim(callId: string): "new" | "running" | Outcome {
    const finished = this.#finished.peek(callId);
    if (finished !== undefined) return finished;
    if (this.#running.has(callId)) return "running";
    this.#running.add(callId);
    return "new";
  }

  finish(callId: string, outcome: Outcome): void {
    this.#running.delete(callId);
    this.#finished.set(callId, outcome);
  }
}
