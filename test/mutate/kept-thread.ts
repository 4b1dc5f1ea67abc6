import { EventEmitter } from "node:events";
import { type PoolOptions, type PoolWorker, ThreadsPoolWorker, type WorkerRequest } from "vitest/node";

/** Runs per thread. A new thread drops state that earlier mutants left in the modules. */
const maxRuns = 40;

/** A longer run, in ms, contains a test that waits for something that never happens, and may continue to. */
const maxRunMs = 7_000;

let kept: { thread: ThreadsPoolWorker; runs: number } | undefined;

/**
 * A thread that runs the tests of many mutants, one after the other. vitest starts a new thread for each run, and
 * loading the modules takes longer than most tests. Stryker switches mutants with a global variable, so the modules can
 * stay.
 */
export class KeptThread implements PoolWorker {
  readonly name = "kept-thread";
  private readonly options: PoolOptions;
  /** Events of the thread for the current run. */
  private readonly events = new EventEmitter();
  private readonly forwards = ["message", "error", "exit"].map(
    (name) => [name, (event: unknown) => this.events.emit(name, event)] as const,
  );
  private config: object = {};
  private readonly startedAt = Date.now();

  constructor(options: PoolOptions) {
    this.options = options;
  }

  async start(): Promise<void> {
    if (!kept) {
      kept = { thread: new ThreadsPoolWorker(this.options), runs: 0 };
      await kept.thread.start();
    }
    for (const [name, forward] of this.forwards) kept.thread.on(name, forward);
  }

  async stop(): Promise<void> {
    if (!kept) return;
    for (const [name, forward] of this.forwards) kept.thread.off(name, forward);
    if (kept.runs < maxRuns && Date.now() - this.startedAt < maxRunMs) return;
    const { thread } = kept;
    kept = undefined;
    await thread.stop();
  }

  send(message: WorkerRequest): void {
    if (!kept) return;
    if (message.type === "start") {
      this.config = message.context.config;
      kept.runs += 1;
    }
    // Send the configuration of this run, with the names of its tests; the thread has that of its first run.
    if (message.type === "run") Object.assign(message.context, { config: this.config });
    if (message.type === "stop") this.answer("stopped");
    else if (message.type === "start" && kept.runs > 1) this.answer("started");
    else kept.thread.send(message);
  }

  private answer(type: string): void {
    setImmediate(() => this.events.emit("message", { type, __vitest_worker_response__: true }));
  }

  on(event: string, callback: (event: unknown) => void): void {
    this.events.on(event, callback);
  }

  off(event: string, callback: (event: unknown) => void): void {
    this.events.off(event, callback);
  }

  deserialize(data: unknown): unknown {
    return data;
  }
}
