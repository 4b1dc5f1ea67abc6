import type { Events } from "./events.ts";
import type { Method, ParamsInput } from "./methods.ts";
import type { Receipt, Results } from "./results.ts";

/**
 * What GSV's own gateway asks of nodes besides the methods and events of this one. A node of ours answers it;
 * this gateway refuses these methods with 404.
 */
interface GsvMethods {
  "node.probe.result": {
    params: { probeId: string; ok: boolean; bins?: Record<string, boolean>; error?: string };
    result: Receipt;
  };
  "node.exec.event": { params: ExecEvent; result: Receipt };
}

/** How a background command of a node ended. Times are epoch ms. */
export interface ExecEvent {
  /** Names the event, so that a repeat is recognised. */
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

/** Asks a node which of these commands it has. */
interface NodeProbe {
  probeId: string;
  kind: "bins";
  bins: string[];
  /** 10 s unless given. */
  timeoutMs?: number;
}

/** Every method that a peer of ours may call. */
export type CallableMethod = Method | keyof GsvMethods;

type SentParams = { [M in Method]: ParamsInput<M> } & { [M in keyof GsvMethods]: GsvMethods[M]["params"] };
type ReceivedResults = Results & { [M in keyof GsvMethods]: GsvMethods[M]["result"] };

/** The params of a method, as a peer sends them: defaults may be left out. */
export type CallParams<M extends CallableMethod> = SentParams[M];

/** The result of a method, as a peer receives it. */
export type CallResult<M extends CallableMethod> = ReceivedResults[M];

/** Payloads of every event that a peer of ours may receive. */
export interface HeardEvents extends Events {
  "node.probe": NodeProbe;
}
