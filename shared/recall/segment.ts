/**
 * What was said in an archive of a conversation, as search reads it: a fraction of the archive's size.
 * @see docs/reference/storage-layout.md, "Segments"
 */
export interface Segment {
  v: 1;
  agentId: string;
  sessionKey: string;
  sessionId: string;
  /** When the archive was written, epoch ms. */
  at: number;
  turns: Turn[];
}

/** A message of a conversation. */
export interface Turn {
  /** The message's number in its conversation, from 1 on; the same before and after a compaction. */
  n: number;
  /** Epoch ms. */
  ts: number;
  role: "user" | "assistant" | "tool";
  /** What was said, whole; of a tool's result its beginning. */
  text: string;
  /** True where the text is only the beginning. */
  cut?: true;
  /** Where a user's message came from, and who wrote it there: `MessageOrigin`. */
  channel?: string;
  senderId?: string;
  /** The tools that an assistant's message called, and the one whose result this is. */
  calls?: string[];
}
