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
      /** Id of the token that sent the request. The deferred response is sent only while it is valid, or when it is absent. */
      tokenId?: string;
      /** Present if the answer is for the owner, who had no place yet: the delivery looks for one again. */
      owner?: ToOwner;
    }
  | {
      kind: "channel";
      channel: string;
      accountId: string;
      peer: Peer;
      /** The conversation of the message; sent to bridges. */
      sessionKey?: string;
      replyToId?: string;
      /** Further fields that the channel needs to answer. They may be secret: never log or show them. */
      context?: Record<string, string>;
      /** Present if the place was chosen as the owner's: the delivery chooses again. */
      owner?: ToOwner;
      /** What is sent there is sent only while this person is an owner. Set at the delivery (`findReceiver`). */
      whileOwner?: Sender;
    };

/** The direct conversation where an owner of this agent last wrote. `onChannel`: only on this channel. */
export interface ToOwner {
  agentId: string;
  onChannel?: string;
}

/** The writer of an entry, and of the run that it begins. */
export interface Writer {
  /** Absent: an owner. Decided when the message came in (`senderRole`). */
  role?: Role;
  /** The sender's id on the channel; absent for clients. */
  senderId?: string;
}

/** A person who wrote on a channel. Before the gateway acts later on their behalf, it checks that they are still an owner. */
export interface Sender {
  channel: string;
  senderId: string;
}

/** The place of a messenger's message in its conversation (`orderEntry`). */
export interface Dated {
  /** When it was written, by the platform's clock, epoch ms. Absent for clients and for the gateway's own messages. */
  sentAt?: number;
}

/** The configuration that a message and its run use. */
export interface Configured {
  /**
   * The configuration's version when the message arrived: the run must not use an older one. Absent: the agent reads the
   * newest one.
   */
  configurationVersion?: number;
}

/** Settings from a message's directives, which apply to that message only. */
export interface Overrides {
  model?: ModelRef;
  thinkingLevel?: ThinkingLevel;
}

/**
 * The purpose of a message that the gateway itself sent. The message's run copies it. When the run ends, the task is settled
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
  /** The channel on which the sender wrote the message that started the command; absent for a client. */
  channel?: string;
  /** Those of the run that started the command (`SessionTask`). */
  askers?: readonly string[];
  root?: string;
  /** On whose behalf the command was started. */
  sender?: Sender;
}

/** The answer to a message of another session (`gsv__SessionSend`). */
export interface SessionTask {
  kind: "session";
  /** The session that has to answer, and its run. */
  sessionKey: string;
  runId: string;
  /** Whether other work comes before the message. */
  queued: boolean;
  /** The sessions that passed the message on, oldest first. It is not sent to any of them again. */
  askers: readonly string[];
  /** The message from which this one descends (`rootOf`); absent in entries of earlier versions. */
  root?: string;
  /** On whose behalf the first of them asked. */
  sender?: Sender;
  /** The call that waits for the answer; absent when no call waits. */
  asker?: { sessionKey: string; runId: string; step: number; callId: string };
}

/** One run of a scheduled job. */
export interface CronTask {
  kind: "cron";
  jobId: string;
  /** The scheduled time of this run, epoch ms. Job and time identify the run. */
  at: number;
  /** When it was queued, epoch ms. */
  queuedAt: number;
  /** The summary in the job's history: where the run was queued, and where its answer goes. */
  summary: string;
  /** The run fails after this time, in milliseconds. Absent: only the general limits apply. */
  timeoutMs?: number;
  /** An undeliverable answer does not fail the run. */
  bestEffort?: true;
  /** The person on a channel on whose behalf the agent created the job. */
  sender?: Sender;
}

/** One tick of an agent's heartbeat. */
export interface HeartbeatTask {
  kind: "heartbeat";
  agentId: string;
  /** Where the answer is delivered unless it is empty. Absent: to no channel. */
  to?: Origin;
}

/** Which edit of which message an entry contains. */
export interface Correction {
  /** The id of the message's own entry. */
  of: string;
  /** Epoch ms, greater for a later edit. */
  at: number;
}

/**
 * An item of a session's inbox. A retry has the same id and is dropped; a message's id is also its run's id.
 */
export type InboxEntry = { id: string; at: number; origin: Origin } & Writer &
  Configured &
  Dated &
  (
    | {
        kind: "message";
        text: string;
        media?: StoredMedia[];
        attachments?: RemoteMedia[];
        overrides?: Overrides;
        task?: Task;
        /** The answer is stored under the run's id, for a client that asks later. */
        keepsAnswer?: true;
        /** Whose words the text contains, besides those of the owner or the sender. Absent in earlier versions. */
        origins?: string[];
        /** The text is the newest one of the message with the id `of`, from its edit at `at` (epoch ms). */
        correction?: Correction;
        /** The id of the album that the message is a part of. The parts begin one run (`functions/agent/album.ts`). */
        album?: string;
      }
    /** `via`: the source of the request, which decides the shape of the answer. `private`: the next conversation is. */
    | { kind: "reset"; via: "command" | "method" | "policy"; private?: true }
    /** `keep`: number of newest messages that are not compacted. */
    | { kind: "compact"; keep: number; via: "command" | "method" }
    /** `object`: the id of the object to show to the model, or to hide from it. */
    | { kind: "activate"; object: string; via: "method" }
    | { kind: "deactivate"; object: string; via: "method" }
    | { kind: "pin"; object: string; pinned: boolean; via: "method" }
  );
