import type { Message } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";

/** How a run ended. */
export type Outcome = "answered" | "failed" | "stopped";

/** An accepted entry of a peer. */
export interface Sent {
  id: string;
  sessionKey: string;
  entry: InboxEntry;
  /** Whether it was removed from the inbox. */
  isTaken: boolean;
  /** It began as a part of another message's run. */
  isPart?: true;
  /** When its run began, and when its stop was accepted: epoch ms, without what its session has waited for its turns. */
  begunAt?: number;
  stoppedAt?: number;
  /** How the run of a message ended. */
  outcome?: Outcome;
}

/** The events of a schedule, as the services saw them, and its faults. */
export class Ledger {
  readonly violations = new Set<string>();
  /** Accepted entries, by id. */
  readonly entries = new Map<string, Sent>();
  /** Ids of acknowledged requests, before or after their acceptance is seen. */
  readonly acknowledged = new Set<string>();
  /** All committed messages, by the conversation's id. */
  readonly said = new Map<string, Message[]>();
  /** Conversations of a session, oldest first. */
  readonly conversations = new Map<string, string[]>();
  /** Ids of messages in the order of their runs, by session. */
  readonly begun = new Map<string, string[]>();
  /** Numbers of messages in the order of their runs, for all sessions together. */
  readonly turns: number[] = [];
  /** The machine that last acquired the lease of each session. */
  readonly holders = new Map<string, string>();
  /** Runs for which a stop was accepted, by the id of the stop. */
  readonly stops = new Map<string, Set<string>>();
  /** The final events of runs that clients received. */
  readonly told = new Map<string, ("final" | "error")[]>();
  /** Answers to requests, by their ids. */
  readonly responses: string[] = [];
  /** When the owners of the platform last changed, epoch ms. */
  ownersChangedAt = 0;
  messages = 0;

  fault(what: string): void {
    this.violations.add(what);
  }

  /** Appends to a list of a map. */
  add<T>(map: Map<string, T[]>, key: string, ...values: T[]): void {
    map.set(key, [...(map.get(key) ?? []), ...values]);
  }
}
