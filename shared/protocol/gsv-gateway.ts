import type { Method, ParamsInput } from "./methods.ts";
import type { Receipt, Results } from "./results.ts";

/**
 * Methods between GSV's own gateway and nodes that this gateway does not have. Our node supports
 * them; this gateway answers these methods with 404.
 */
interface GsvMethods {
  "node.exec.event": { params: ExecEvent; result: Receipt };
}

/** How a background command of a node ended. Times are epoch ms. */
export interface ExecEvent {
  /** Unique id of the event; a repeat has the same id. */
  eventId: string;
  sessionId: string;
  event: "finished" | "failed" | "timed_out";
  callId: string;
  exitCode?: number;
  signal?: string;
  outputTail: string;
  startedAt: number;
  endedAt?: number;
}

/** Every method that a peer of ours may call. */
export type CallableMethod = Method | keyof GsvMethods;

type SentParams = { [M in Method]: ParamsInput<M> } & { [M in keyof GsvMethods]: GsvMethods[M]["params"] };
type ReceivedResults = Results & { [M in keyof GsvMethods]: GsvMethods[M]["result"] };

/** The params of a method, as a peer sends them: defaults may be left out. */
export type CallParams<M extends CallableMethod> = SentParams[M];

/** The result of a method, as a peer receives it. */
export type CallResult<M extends CallableMethod> = ReceivedResults[M];
