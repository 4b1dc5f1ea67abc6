/** A conversation that a reset has ended. */
export interface PreviousConversation {
  sessionId: string;
  /** Epoch ms. Unknown when an earlier version of the gateway ended it. */
  lastActiveAt?: number;
}

/** How full a session's context window is. Counts of tokens. */
export interface ContextResult {
  sessionKey: string;
  /** The model of the next message, `provider/id`. */
  model: string;
  messageCount: number;
  /** Whose words it contains, besides the owner's: `web:{host}`, `machine:{node}`, `guest:{channel}/{sender}`, … */
  origins?: string[];
  /** As of the last reply. Absent before the first one, and after a compaction or reset until the next one. */
  last?: {
    /** Input tokens of the model call, as the provider reported them. */
    tokens: number;
    /** The size of the model's window, input and output together. */
    window: number;
    /** The part of `tokens` for prompt and tools, estimated by characters; the rest are messages. */
    prompt: number;
    /** A conversation with more tokens is compacted before the next reply. Absent when compaction is off. */
    compactsAt?: number;
  };
  /** Whether results are rendered at their calls or in pools (docs/context.md). */
  rendering: "inline" | "pools";
  /** Every object of the conversation that can be hidden: archived calls, live calls, files, in this order. */
  entries: ContextEntry[];
  /** Older archived calls that have no entry. */
  more: number;
  /** Ids of the objects that the model sees, does not see, and sees until they are unpinned. */
  active: string[];
  inactive: string[];
  pinned: string[];
  /** The hash of the active set; each reply stores it as `context.active`. */
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
  /** The provider's id of a call, when it differs from `id`. */
  provider_id?: string;
  /** Of a file of the workspace. */
  path?: string;
  /** Characters of its text; absent when it has none. */
  characters?: number;
  /** Estimated tokens of its text. */
  tokens?: number;
  active: boolean;
  pinned: boolean;
  /** A compaction has archived it. */
  archived?: true;
  /** SHA-256 of its text, in hex; absent when the text was not read. */
  content_hash?: string;
  metadata_view_hash: string;
}

/** The result of a change to an object. */
export interface ContextChanged {
  ok: true;
  id: string;
  /** `automatic`: unpinned. `unchanged`: the object has no text. */
  state: "active" | "inactive" | "pinned" | "automatic" | "unchanged";
  note: string;
}

/** Tokens and money spent on model calls. Tokens as the providers report them; `input` excludes those read from or written to a cache. */
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

/** The spending of all sessions. Estimated prices count, so no call is `unpriced`. `savedDollars` as in `usage.get`. */
export type SpendingOfAll = Spending & { savedDollars?: number };

/** The spending of a session. */
export interface CostResult {
  sessionKey: string;
  /** The last turn that the model answered; absent before the first. */
  turn?: Spending & { runId: string };
  /** The conversation since its last reset. */
  session: Spending;
  /** Today in the user's timezone, across resets: this session, and, when a client asks, all sessions. */
  today: { date: string; session: Spending; all?: SpendingOfAll };
  /** This month, when a client asks. */
  month?: { since: string; all: SpendingOfAll };
}

/** A session in a list. Times are epoch ms. */
export interface SessionEntry {
  sessionKey: string;
  createdAt: number;
  lastActiveAt: number;
  label?: string;
}

/**
 * The outcome of a run. `waiting`: it is behind other work. `unknown`: no such run is in progress, and its answer was not
 * kept. `error`: why there is no answer.
 */
export type RunOutcome =
  | { status: "waiting" | "working" | "unknown" }
  | { status: "done"; text: string }
  | { status: "failed"; error: string };
