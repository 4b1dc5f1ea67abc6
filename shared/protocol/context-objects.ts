/** Where the content of an object is. */
export type ObjectSource =
  /** The result of a call of the live conversation. */
  | { kind: "call" }
  /** A result that a compaction has archived: the time of the compaction (epoch ms), and the line of its part, from 0. */
  | { kind: "archive"; at: number; line: number }
  /** A workspace file: as it is, or with `hash` (SHA-256, hex) the version that was pinned. */
  | { kind: "file"; path: string; hash?: string };

/** An object that somebody has activated or pinned. */
export interface ActivatedObject {
  id: string;
  /** One line for people and for the model. */
  title: string;
  source: ObjectSource;
  /** Characters of its text. */
  characters: number;
  pinned: boolean;
  /** The turn of the conversation in which that was done; turns are counted from 1 at its first live message. */
  turn: number;
}

/** A call that a compaction has archived. */
export interface ArchivedCall {
  id: string;
  /** The provider's id, where it is not `id`. */
  providerId?: string;
  tool: string;
  /** The call in one line. */
  args_display: string;
  status: "ok" | "fail";
  /** Characters of its result; absent where that is no text. */
  characters?: number;
  /** The compaction that archived it, and the line of its result in the part, from 0. */
  at: number;
  line: number;
}

/** What the summary of an earlier conversation keeps of its objects. */
export interface EarlierContext {
  /** The newest archived calls, in their order. */
  calls: ArchivedCall[];
  /** Number of older archived calls: their ids are found in the archives. */
  more: number;
  /** What was active and belongs to no live message. */
  activated: ActivatedObject[];
}
