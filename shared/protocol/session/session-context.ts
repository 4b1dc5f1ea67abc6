/** How full a session's context window is. Counts of tokens. */
export interface ContextResult {
  sessionKey: string;
  /** The model of the next message, `provider/id`. */
  model: string;
  messageCount: number;
  /** As of the last reply. Absent before the first one, and after a compaction or reset until the next one. */
  last?: {
    /** What the model was sent, as its provider reported it. */
    tokens: number;
    /** What its window holds, question and answer together. */
    window: number;
    /** The part of `tokens` that prompt and tools take, by its share of the characters; the rest are messages. */
    prompt: number;
    /** A conversation of more tokens is compacted before the next reply. Absent where compaction is switched off. */
    compactsAt?: number;
  };
}
