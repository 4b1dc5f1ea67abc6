/**
 * What a search reads of a quarter of a year: the turns of the conversations archived in it, and the notes of its days.
 * @see docs/reference/storage-layout.md, "Segments"
 */
export interface Segment {
  archives: ArchivedPart[];
  /** By path in the workspace. `etag`: the version of the file that has this text. */
  notes: Record<string, Note>;
}

/** The turns of an archive, a fraction of its size. */
export interface ArchivedPart {
  /** The archive's file name without its extension. */
  archive: string;
  sessionKey: string;
  sessionId: string;
  /** When the archive was written, epoch ms. */
  at: number;
  /** Whose words the conversation contains, besides the owner's. */
  origins?: string[];
  turns: Turn[];
  /** True for all parts of a long archive but its last. The archive is searchable once its last part is stored. */
  more?: true;
}

/** The text of a note, and whose words it contains, besides the owner's. */
export interface Note {
  etag: string;
  text: string;
  origins?: string[];
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
