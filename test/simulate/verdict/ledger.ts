import type { Message } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";

/** How a run ended. */
export type Outcome = "answered" | "failed" | "stopped";

/** An entry that a peer has sent, as far as it is known. */
export interface Sent {
  id: string;
  sessionKey: string;
  entry: InboxEntry;
  /** The sender was told that it was taken. */
  isAcknowledged: boolean;
  /** Taken out of the inbox. */
  isTaken: boolean;
  /** When its run began, and when its stop was accepted; epoch ms. */
  begunAt?: number;
  stoppedAt?: number;
  /** Of a message: how its run ended. */
  outcome?: Outcome;
}

/** What has happened in a schedule, as the services saw it, and what was wrong with it. */
export class Ledger {
  readonly violations = new Set<string>();
  /** Entries that came into an inbox, by session and id. */
  readonly entries = new Map<string, Sent>();
  /** Ids of requests whose sender was told that they were taken, before or after they came into an inbox. */
  readonly acknowledged = new Set<string>();
  /** All messages that were committed, by the conversation's id. */
  readonly said = new Map<string, Message[]>();
  /** Conversations of a session, oldest first. */
  readonly conversations = new Map<string, string[]>();
  /** Ids of messages in the order in which their runs began, by session. */
  readonly begun = new Map<string, string[]>();
  /** Numbers of messages in the same order, those of all sessions together. */
  readonly turns: number[] = [];
  /** The machine that took the lease of a session last. */
  readonly holders = new Map<string, string>();
  /** Runs that a stop was accepted for, by the id of the stop. */
  readonly stops = new Map<string, Set<string>>();
  /** The ends of runs that clients were told of. */
  readonly told = new Map<string, ("final" | "error")[]>();
  /** Answers to requests, by their ids. */
  readonly responses: string[] = [];
  messages = 0;

  fault(what: string): void {
    this.violations.add(what);
  }

  /** Adds to a list of a map, which begins empty. */
  add<T>(map: Map<string, T[]>, key: string, ...values: T[]): void {
    map.set(key, [...(map.get(key) ?? []), ...values]);
  }
}
