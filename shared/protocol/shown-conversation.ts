import * as v from "valibot";
import type { Message } from "./messages.ts";
import { count, idField, sessionKeyField } from "./schemas.ts";

/** Params of the methods with which a client shows a conversation and its files. */
export const conversationParams = {
  "session.preview": v.object({
    sessionKey: sessionKeyField,
    limit: v.optional(count(1, 1000)),
    before: v.optional(count(1, Number.MAX_SAFE_INTEGER)),
  }),
  "session.transcript": v.object({
    sessionId: v.pipe(v.string(), v.minLength(1), v.maxLength(64)),
    sessionKey: v.optional(sessionKeyField),
    agentId: v.optional(idField),
    next: v.optional(v.pipe(v.string(), v.maxLength(64))),
    maxBytes: v.optional(count(10_000, 8_000_000), 96 * 1024),
  }),
  "session.fork": v.object({
    sessionKey: sessionKeyField,
    seq: v.optional(count(1, Number.MAX_SAFE_INTEGER)),
    forkId: v.pipe(v.string(), v.uuid()),
  }),
  "media.url": v.object({
    sessionKey: sessionKeyField,
    r2Key: v.pipe(v.string(), v.minLength(1), v.maxLength(1024)),
  }),
} as const;

export interface ConversationResults {
  /**
   * The newest messages, or the newest before `before`, oldest first. `seq` is a message's number in the conversation, and
   * `first` that of the oldest one that a compaction has not archived.
   */
  "session.preview": {
    sessionKey: string;
    sessionId: string;
    messageCount: number;
    first: number;
    messages: (Message & { seq: number })[];
  };
  /** The new session, and the number of its messages. */
  "session.fork": { sessionKey: string; sessionId: string; messages: number };
  /** `url` answers GET until `expiresAt`, epoch ms. */
  "media.url": { url: string; mimeType: string; expiresAt: number };
}
