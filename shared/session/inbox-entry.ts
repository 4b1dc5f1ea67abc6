import type { Peer } from "../protocol/channel-accounts.ts";
import type { MediaAttachment, StoredMedia } from "../protocol/messages.ts";
import type { ModelRef, ThinkingLevel } from "../protocol/schemas.ts";

/** What came with a message and lies with its platform, until the agent fetches it. `mimeType` where it is known. */
export interface RemoteMedia {
  type: MediaAttachment["type"];
  mimeType?: string;
  filename?: string;
  /** Bytes, as the platform says. */
  size?: number;
  /** Seconds. */
  duration?: number;
  /** Audio that was spoken as a message. */
  voice?: boolean;
  /** Where it lies: `url` for everybody, anything else for its channel to read. */
  source: Record<string, string>;
}

/** Where an entry came from, and so where its answer goes besides the connected clients. */
export type Origin =
  | {
      kind: "client";
      /** The connection and request that wait for a deferred response. */
      connectionId?: string;
      requestId?: string;
    }
  | {
      kind: "channel";
      channel: string;
      accountId: string;
      peer: Peer;
      replyToId?: string;
      /** What the channel needs, besides, to answer. It may hold a secret, and is never logged nor shown. */
      context?: Record<string, string>;
    };

/** What a message's directives change, for that message alone. */
export interface Overrides {
  model?: ModelRef;
  thinkingLevel?: ThinkingLevel;
}

/** One thing for the agent to do. Its id makes a repeat the same entry; for a message it is the run's id too. */
export type InboxEntry = { id: string; at: number; origin: Origin } & (
  | {
      kind: "message";
      text: string;
      media?: StoredMedia[];
      attachments?: RemoteMedia[];
      overrides?: Overrides;
    }
  /** `via`: how the request came, and so in which shape it is answered. */
  | { kind: "reset"; via: "command" | "method" | "policy" }
  /** `keep`: messages that stay as they are. */
  | { kind: "compact"; keep: number; via: "command" | "method" }
);
