import { LRUCache } from "lru-cache";
import type { Events } from "../../shared/protocol/events.ts";
import { maxFrameBytes } from "../../shared/protocol/frames.ts";
import { fitResult } from "./fit-result.ts";
import { raceWithTimeout } from "./race-with-timeout.ts";
import type { Outbox } from "./result-outbox.ts";
import type { NodeTool, ToolContext, ToolResult } from "./tools/node-tool.ts";
import { jsonBytes } from "./truncate.ts";

/** Bytes of a request that are reserved for the fields other than the result. */
const frameMargin = 8 * 1024;

/** A call that has begun. `outcome` is set when it has ended. */
export interface CallChange {
  callId: string;
  tool: string;
  args: unknown;
  outcome?: Outcome;
}

/** What surrounds the run of a tool. */
interface Surroundings {
  /** Log lines never contain arguments or results. */
  log(line: string): void;
  onCall(change: CallChange): void;
  /** Every tool of the node. */
  tools(): readonly NodeTool[];
  /** Provides what a call's arguments name. Its error becomes the call's. */
  prepare(args: unknown, signal: AbortSignal): Promise<void>;
  /** The result with what else the model is to read. */
  extend(result: ToolResult, call: { args: unknown; conversation?: string }): Promise<ToolResult>;
}

/** The checked fields of a `tool.invoke` event. */
interface Call {
  tool: string;
  args: unknown;
  conversation?: string;
}

/** Runs a node's tool calls concurrently and puts their results into the outbox. */
export class NodeCalls {
  readonly #context: Omit<ToolContext, "callId" | "signal">;
  readonly #outbox: Outbox;
  readonly #around: Surroundings;
  readonly #maxRequestBytes: () => number;
  readonly #calls = new CallLog();
  readonly #running = new Map<string, { end: Promise<void>; stop: AbortController }>();

  /** `maxRequestBytes`: returns the current maximum request size of the gateway, in bytes. */
  constructor(
    context: Omit<ToolContext, "callId" | "signal">,
    outbox: Outbox,
    around: Surroundings,
    maxRequestBytes: () => number,
  ) {
    this.#context = context;
    this.#outbox = outbox;
    this.#around = around;
    this.#maxRequestBytes = maxRequestBytes;
  }

  /**
   * Handles a `tool.invoke` event `{callId, tool, args}`. A repeated call is not run again; its result is
   * resent when there is one.
   */
  invoke(payload: Events["tool.invoke"]): void {
    const { callId, tool, args, conversation } = fieldsOf(payload);
    if (typeof callId !== "string" || typeof tool !== "string") {
      this.#log("ignored a tool.invoke without callId or tool");
      return;
    }
    const claim = this.#calls.claim(callId);
    if (claim === "running") {
      this.#log(`call ${callId} received again; it is still running`);
    } else if (claim !== "new") {
      this.#log(`call ${callId} received again; sending its result again`);
      this.#deliver(callId, claim);
    } else {
      const stop = new AbortController();
      const call = { tool, args, ...(typeof conversation === "string" ? { conversation } : {}) };
      const end = this.#run(callId, call, stop.signal).finally(() => this.#running.delete(callId));
      this.#running.set(callId, { end, stop });
    }
  }

  /**
   * Handles a `tool.cancel` event `{callId}`: the result is no longer needed. A running call stops the processes it
   * started and answers with its partial result. A call that has not arrived yet will not be run.
   */
  cancel(payload: Events["tool.cancel"]): void {
    const { callId } = fieldsOf(payload);
    if (typeof callId !== "string") {
      this.#log("ignored a tool.cancel without callId");
      return;
    }
    const running = this.#running.get(callId);
    if (running) {
      this.#log(`call ${callId} stopped`);
      running.stop.abort();
    } else if (this.#calls.claim(callId) === "new") {
      this.#calls.finish(callId, { error: "not run: the call was cancelled before it began" });
    }
  }

  /** Resolves when no call is running, or after `maxMs`. */
  async settled(maxMs: number): Promise<void> {
    await raceWithTimeout(Promise.all([...this.#running.values()].map(({ end }) => end)), maxMs);
  }

  async #run(callId: string, call: Call, signal: AbortSignal): Promise<void> {
    const { tool: name, args } = call;
    const startedAt = Date.now();
    this.#around.onCall({ callId, tool: name, args });
    this.#log(`call ${callId} ${name} started`);
    const outcome = await this.#outcomeOf(call, { ...this.#context, callId, signal });
    this.#calls.finish(callId, outcome);
    this.#around.onCall({ callId, tool: name, args, outcome });
    const how = "error" in outcome ? "failed" : "done";
    this.#log(`call ${callId} ${name} ${how} after ${Date.now() - startedAt} ms`);
    this.#deliver(callId, outcome);
  }

  /** Never rejects: a tool's error is its outcome. */
  async #outcomeOf(call: Call, context: ToolContext): Promise<Outcome> {
    try {
      const tool = toolNamed(this.#around.tools(), call.tool);
      await this.#around.prepare(call.args, context.signal);
      const result = await this.#around.extend(await tool.run(call.args, context), call);
      return fitOutcome({ result }, this.#maxRequestBytes());
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return fitOutcome({ error: message }, maxFrameBytes);
    }
  }

  #log(line: string): void {
    this.#around.log(line);
  }

  #deliver(callId: string, outcome: Outcome): void {
    const inOneFrame = () => ({ callId, ...fitOutcome(outcome, maxFrameBytes) });
    this.#outbox.add(`result of ${callId}`, "tool.result", { callId, ...outcome }, { smaller: inOneFrame });
  }
}

/** Shortens an outcome so that its request has at most `maxBytes`. */
function fitOutcome(outcome: Outcome, maxBytes: number): Outcome {
  const max = maxBytes - frameMargin;
  return "error" in outcome
    ? { error: String(fitResult(outcome.error, max)) }
    : { result: fitResult(outcome.result, max) };
}

function toolNamed(tools: readonly NodeTool[], name: string): NodeTool {
  const tool = tools.find((candidate) => candidate.definition.name === name);
  if (tool !== undefined) return tool;
  const known = tools.map((candidate) => candidate.definition.name).join(", ");
  throw new Error(`this node has no tool ${name}; it has ${known}`);
}

/** The outcome of a tool call: the params of `tool.result` without the callId. */
type Outcome = { result: unknown } | { error: string };

/** Limits of the log: number of finished calls, and total bytes of their outcomes. */
const keptCalls = 1000;
const keptBytes = 32 * 1024 * 1024;

/**
 * Remembers the tool calls of a node, so that none runs twice. The gateway resends a call when it does not know
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

/** The unchecked fields of an event's payload; empty when it is not an object. */
export function fieldsOf(payload: unknown): Record<string, unknown> {
  return typeof payload === "object" && payload !== null ? (payload as Record<string, unknown>) : {};
}
