/** Where the content of an object is. */
export type ObjectSource =
  /** The result of a call of the live conversation. */
  | { kind: "call" }
  /** A result that a compaction archived: the time of the compaction (epoch ms), and the line in its part, from 0. */
  | { kind: "archive"; at: number; line: number }
  /** A workspace file: its current version, or with `hash` (SHA-256, hex) the pinned one. */
  | { kind: "file"; path: string; hash?: string };

/** An object that was activated or pinned explicitly. */
export interface ActivatedObject {
  id: string;
  /** One line for people and for the model. */
  title: string;
  source: ObjectSource;
  /** Characters of its text. */
  characters: number;
  pinned: boolean;
  /** The turn in which it was activated or pinned; turns are counted from 1 at the first live message. */
  turn: number;
}

/** A call that a compaction archived. */
export interface ArchivedCall {
  id: string;
  /** The provider's id, when it differs from `id`. */
  providerId?: string;
  tool: string;
  /** The call in one line. */
  args_display: string;
  status: "ok" | "fail";
  /** Characters of its result; absent when that is not text. */
  characters?: number;
  /** The compaction that archived it, and the line of its result in the part, from 0. */
  at: number;
  line: number;
}

/** The objects listed in the summary of an earlier conversation. */
export interface EarlierContext {
  /** The newest archived calls, in their order. */
  calls: ArchivedCall[];
  /** Number of older archived calls; their ids are in the archives. */
  more: number;
  /** Active objects that belong to no live message. */
  activated: ActivatedObject[];
}
