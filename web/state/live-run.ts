import type {
  ChatDelta,
  ChatEvent,
  ChatReply,
  ChatRetry,
  ChatUser,
  RunToolResult,
} from "../../shared/protocol/events.ts";
import { type Entry, entriesOf, type ReplyEntry, replyEntries, replyId, type ToolEntry } from "./entries.ts";

/** What the gateway sends when a run was stopped. */
const stopped = "Run cancelled by user";

/**
 * The entries of a run in progress, from its events. Events may be lost or repeated; a reply's complete message replaces
 * the streamed text.
 */
export class LiveRun {
  readonly runId: string;
  entries: Entry[] = [];
  /** The keys under which replies were shown while they arrived, by their own keys. */
  readonly shownKeys = new Map<string, string>();
  /** Why the model is called again later. */
  waiting: string | undefined;
  #open: ReplyEntry | undefined;
  #step = 0;
  #attempt = 0;
  #nextSeq = 0;
  #isComplete = false;

  constructor(runId: string) {
    this.runId = runId;
  }

  /** Handles an event of this run. */
  chat(event: ChatEvent): void {
    this.waiting = undefined;
    if (event.state === "user") this.#begun(event);
    else if (event.state === "delta") this.#delta(event);
    else if (event.state === "retry") this.#retry(event);
    else if (event.state === "error") this.#fail(event.error);
    else this.#complete(event);
  }

  /** Handles the result of a call of this run. */
  toolResult(event: RunToolResult): void {
    const { callId: key, tool, args, isError, preview, command } = event;
    const known = this.entries.find((entry) => entry.key === key) as ToolEntry | undefined;
    const before: ToolEntry = known ?? {
      ...{ kind: "tool", key, at: Date.now(), tool, args, state: "running", output: "", files: [] },
    };
    if (before.state !== "running") return;
    const ended: ToolEntry = {
      ...before,
      state: isError || command?.failure ? "failed" : "ok",
      output: preview,
      durationMs: command?.durationMs ?? Date.now() - before.at,
      ...(command?.failure ? { failure: command.failure } : {}),
    };
    if (known) this.entries = this.entries.map((entry) => (entry === known ? ended : entry));
    else this.#add(ended);
  }

  /** Drops what the stored messages contain by now. What is still arriving, and why a run failed, remains. */
  settle(stored: readonly Entry[]): void {
    const known = new Set(stored.map(({ key }) => key));
    this.entries = this.entries.filter(
      (entry) =>
        entry === this.#open || entry.kind === "note" || (entry.kind === "tool" && !known.has(entry.key)),
    );
  }

  /** The message with which the run began. It may come twice. */
  #begun({ message }: ChatUser): void {
    const [entry] = entriesOf([message], true);
    if (entry && !this.entries.some(({ key }) => key === entry.key)) this.entries = [entry, ...this.entries];
  }

  #delta({ text, seq, step, attempt }: ChatDelta): void {
    if (this.#isOlder({ step, attempt })) return;
    if (step !== this.#step || attempt !== this.#attempt || (this.#isComplete && seq === 0))
      this.#begin(step, attempt);
    // After a gap, the complete message follows.
    if (seq !== this.#nextSeq || this.#isComplete) return;
    this.#nextSeq += 1;
    const before = this.#open;
    const at = before?.at ?? Date.now();
    const open: ReplyEntry = {
      ...{ kind: "reply", key: `${this.runId}:${step}:${attempt}`, at, isOpen: true },
      text: (before?.text ?? "") + text,
    };
    this.entries = [...this.entries.filter((entry) => entry !== before), open];
    this.#open = open;
  }

  #retry({ step, attempt, reason, waitMs }: ChatRetry): void {
    if (this.#isOlder({ step, attempt })) return;
    this.#begin(step, attempt);
    const why = reason.replace(/^LLM error: /, "");
    this.waiting = `${why} Trying again in ${Math.ceil(waitMs / 1000)} s.`;
  }

  #fail(error: string): void {
    this.#close();
    const isError = error !== stopped;
    const text = isError ? error : "Stopped.";
    this.#add({ kind: "note", key: `${this.runId}:error`, at: Date.now(), text, isError });
  }

  #complete({ message }: ChatReply): void {
    if (this.#open) this.shownKeys.set(replyId(message), this.#open.key);
    this.#close();
    // The clock of this device measures how long a call runs.
    for (const entry of replyEntries(message, replyId(message)))
      if (!this.entries.some((known) => known.key === entry.key)) this.#add({ ...entry, at: Date.now() });
    this.#isComplete = true;
  }

  #isOlder({ step, attempt }: { step: number; attempt: number }): boolean {
    return step < this.#step || (step === this.#step && attempt < this.#attempt);
  }

  #begin(step: number, attempt: number): void {
    this.#close();
    this.#step = step;
    this.#attempt = attempt;
    this.#nextSeq = 0;
    this.#isComplete = false;
  }

  /** Removes the streamed text: its complete message follows, or it starts over. */
  #close(): void {
    this.entries = this.entries.filter((entry) => entry !== this.#open);
    this.#open = undefined;
  }

  #add(entry: Entry): void {
    this.entries = [...this.entries, entry];
  }
}
