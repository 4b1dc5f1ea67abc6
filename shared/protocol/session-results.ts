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
  /** Whether results stand in their places (docs/context.md). */
  rendering: "inline" | "pools";
  /** Every object of the conversation but those that are always seen: archived calls, live ones, files, in this order. */
  entries: ContextEntry[];
  /** Older archived calls that have no entry. */
  more: number;
  /** Ids of what the model sees, does not see, and is kept seeing. */
  active: string[];
  inactive: string[];
  pinned: string[];
  /** What each reply keeps of the active set as `context.active`. */
  active_hash: string;
}

/** An object of a conversation, and whether the model sees its content. */
export interface ContextEntry {
  id: string;
  type: "toolcall" | "file";
  /** Of a call: its tool, one line of its arguments, and how it ended. */
  tool?: string;
  args_display?: string;
  status?: "ok" | "fail";
  /** The provider's id of a call, where it is not `id`. */
  provider_id?: string;
  /** Of a file of the workspace. */
  path?: string;
  /** Of its text; absent where it has none. */
  characters?: number;
  /** What these are estimated to take. */
  tokens?: number;
  active: boolean;
  pinned: boolean;
  /** A compaction has archived it. */
  archived?: true;
  /** SHA-256 of its text, in hex; absent where the text is not at hand. */
  content_hash?: string;
  metadata_view_hash: string;
}

/** What became of an object. */
export interface ContextChanged {
  ok: true;
  id: string;
  /** `automatic`: no longer pinned. `unchanged`: it has no text. */
  state: "active" | "inactive" | "pinned" | "automatic" | "unchanged";
  note: string;
}

/** What model calls took. Tokens as their providers report them; `input` without those read from a cache or written to it. */
export interface Spending {
  calls: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** US dollars of the calls whose price is known. */
  dollars: number;
  /** Number of calls whose price is not known. */
  unpriced: number;
}

/** What a session's model calls took. */
export interface CostResult {
  sessionKey: string;
  /** The last turn that the model has answered; absent before the first. */
  turn?: Spending & { runId: string };
  /** The conversation since its last reset. */
  session: Spending;
  /** Today in the user's timezone, resets included: of this session, and of all sessions where a client asks. */
  today: { date: string; session: Spending; all?: Spending };
}

/** A session in a list. Times are epoch ms. */
export interface SessionEntry {
  sessionKey: string;
  createdAt: number;
  lastActiveAt: number;
  label?: string;
}
