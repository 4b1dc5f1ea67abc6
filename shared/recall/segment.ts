/**
 * The searchable turns of an archive, a fraction of the archive's size.
 * @see docs/reference/storage-layout.md, "Segments"
 */
export interface Segment {
  v: 1;
  agentId: string;
  sessionKey: string;
  sessionId: string;
  /** When the archive was written, epoch ms. */
  at: number;
  /** Whose words the conversation contains, besides the owner's. */
  origins?: string[];
  turns: Turn[];
}

/** A message of a conversation. */
export interface Turn {
  /** The message's number in its conversation, from 1; a compaction does not change it. */
  n: number;
  /** Epoch ms. */
  ts: number;
  role: "user" | "assistant" | "tool";
  /** The whole text; only the start of a tool's result. */
  text: string;
  /** True when the text is only the start. */
  cut?: true;
  /** The channel and sender of a user's message: `MessageOrigin`. */
  channel?: string;
  senderId?: string;
  /** The tools that an assistant's message called, or the tool of a result. */
  calls?: string[];
}
