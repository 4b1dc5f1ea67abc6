import { jsonBytes } from "./text.ts";

/** What a call came to: the params of `tool.result` without the callId. */
export type Outcome = { result: unknown } | { error: string };

/** Calls remembered, and bytes of their outcomes. */
const keptCalls = 1000;
const keptBytes = 32 * 1024 * 1024;

/**
 * The calls a node has been given, so that none runs twice: the gateway repeats a call when it does not know whether
 * the node had got it. Forgets the oldest finished calls above 1,000 calls or 32 MB of outcomes.
 */
export class CallLog {
  readonly #running = new Set<string>();
  readonly #finished = new Map<string, { outcome: Outcome; bytes: number }>();
  #bytes = 0;

  /** Claims a call: `new` means that the caller must run it. */
  claim(callId: string): "new" | "running" | Outcome {
    const finished = this.#finished.get(callId);
    if (finished !== undefined) return finished.outcome;
    if (this.#running.has(callId)) return "running";
    this.#running.add(callId);
    return "new";
  }

  finish(callId: string, outcome: Outcome): void {
    this.#running.delete(callId);
    const bytes = jsonBytes(outcome);
    this.#finished.set(callId, { outcome, bytes });
    this.#bytes += bytes;
    for (const [oldest, entry] of this.#finished) {
      if (this.#finished.size <= keptCalls && this.#bytes <= keptBytes) break;
      this.#finished.delete(oldest);
      this.#bytes -= entry.bytes;
    }
  }
}
