import type { Peer, Role } from "../protocol/channel-accounts.ts";
import type { MediaAttachment, StoredMedia } from "../protocol/messages.ts";
import type { ModelRef, ThinkingLevel } from "../protocol/schemas.ts";

/**
 * An attachment that is still stored at its platform, until the agent fetches it. `mimeType` only when known.
 */
export interface RemoteMedia {
  type: MediaAttachment["type"];
  mimeType?: string;
  filename?: string;
  /** Bytes, as reported by the platform. */
  size?: number;
  /** Seconds. */
  duration?: number;
  /** A voice message. */
  voice?: boolean;
  /** Where to fetch it: `url`, or fields that only its channel understands. */
  source: Record<string, string>;
}

/** The source of an entry. The answer goes there and to all connected clients. */
export type Origin =
  | {
      kind: "client";
      /** The connection and request that wait for a deferred response. */
      connectionId?: string;
      requestId?: string;
      /** Id of the token that asked. Without it, or while it is good, a deferred response is sent. */
      tokenId?: string;
    }
  | {
      kind: "channel";
      channel: string;
      accountId: string;
      peer: Peer;
      /** The conversation of the message; bridges are told of it. */
      sessionKey?: string;
      replyToId?: string;
      /** Further fields that the channel needs to answer. They may be secret: never log or show them. */
      context?: Record<string, string>;
    };

/** The writer of an entry, and of the run that it begins. */
export interface Writer {
  /** Absent: an owner. Decided when the message came in (`senderRole`). */
  role?: Role;
  /** The sender's id on the channel; absent for clients. */
  senderId?: string;
}

/** Somebody who has written on a channel. What the gateway does later on that sender's behalf checks whether it is still an owner. */
export interface Sender {
  channel: string;
  senderId: string;
}

/** What a message and its run are to be carried out with. */
export interface Configured {
  /**
   * The version of the configuration that held when the message came in: an older one must not be used. Absent:
   * the agent reads the newest one.
   */
  configurationVersion?: number;
}

/** Settings from a message's directives, which apply to that message only. */
export interface Overrides {
  model?: ModelRef;
  thinkingLevel?: ThinkingLevel;
}

/**
 * What a message that the gateway itself has sent is for. Its run keeps it. When the run ends, the task is settled
 * (`functions/agent/reply/delivery.ts`) before the run is removed.
 */
export type Task = CronTask | ExecTask | HeartbeatTask | SessionTask;

/** A background command of a node has ended. */
export interface ExecTask {
  kind: "exec";
  nodeId: string;
  /** The node's id of the command. */
  sessionId: string;
  /** The session's id when the command was started. */
  conversation: string;
  /** The channel that the sender of the first message wrote on; absent for a client. */
  channel?: string;
  /** As of the run that started the command (`SessionTask`). */
  askers?: readonly string[];
  /** On whose behalf the command was started. */
  sender?: Sender;
}

/** The answer to a message of another session (`gsv__SessionSend`). */
export interface SessionTask {
  kind: "session";
  /** The session that is to answer, and its run. */
  sessionKey: string;
  runId: string;
  /** Other work came before the message. */
  queued: boolean;
  /** The sessions that have handed the message on, the first one first: none of them is sent to again. */
  askers: readonly string[];
  /** On whose behalf the first of them has asked. */
  sender?: Sender;
  /** The call that waits for the answer; absent when none does. */
  asker?: { sessionKey: string; runId: string; step: number; callId: string };
}

/** One run of a scheduled job. */
export interface CronTask {
  kind: "cron";
  jobId: string;
  /** The time of the schedule that this run is for, epoch ms. With the job it names the run. */
  at: number;
  /** When it was queued, epoch ms. */
  queuedAt: number;
  /** What the history says of it: where it was queued, and where its answer goes. */
  summary: string;
  /** The run fails when it takes longer, in milliseconds. Absent: no limit of its own. */
  timeoutMs?: number;
  /** An answer that cannot be delivered is no failure. */
  bestEffort?: true;
  /** Who had the agent write the job, on a channel. */
  sender?: Sender;
}

/** A beat of an agent's heartbeat. */
export interface HeartbeatTask {
  kind: "heartbeat";
  agentId: string;
  /** Where the answer is delivered, if it says anything. Absent: to no channel. */
  to?: Extract<Origin, { kind: "channel" }>;
}

/**
 * An item of a session's inbox. A retry has the same id and is dropped; a message's id is also its run's id.
 */
export type InboxEntry = { id: string; at: number; origin: Origin } & Writer &
  Configured &
  (
    | {
        kind: "message";
        text: string;
        media?: StoredMedia[];
        attachments?: RemoteMedia[];
        overrides?: Overrides;
        task?: Task;
      }
    /** `via`: the source of the request, which decides the shape of the answer. */
    | { kind: "reset"; via: "command" | "method" | "policy" }
    /** `keep`: number of newest messages that are not compacted. */
    | { kind: "compact"; keep: number; via: "command" | "method" }
    /** `object`: the id of the object that the model is to see, or not to see. */
    | { kind: "activate"; object: string; via: "method" }
    | { kind: "deactivate"; object: string; via: "method" }
    | { kind: "pin"; object: string; pinned: boolean; via: "method" }
  );
