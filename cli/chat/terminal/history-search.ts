import { decodeKittyPrintable, matchesKey } from "@earendil-works/pi-tui";
import type { InputHistory } from "./input-history.ts";

/**
 * What a key does to a search: it goes on; it ends with the found entry to be edited (`take`) or sent (`send`), or with
 * what was typed before (`cancel`). `take` may have a key that still has to do its own work.
 */
export type SearchStep =
  | { kind: "on" }
  | { kind: "take"; key?: string }
  | { kind: "send" }
  | { kind: "cancel" };

/** A search in the history for the newest entry that holds what is typed. */
export class HistorySearch {
  readonly #history: InputHistory;
  #query = "";
  #number = 0;
  /** The entry that is found. */
  entry: string | undefined;
  #failed = false;

  constructor(history: InputHistory) {
    this.#history = history;
  }

  /** Says what is searched for. */
  get label(): string {
    return `${this.#failed ? "not found in" : "search"} the history: ${this.#query}`;
  }

  /** Adds text to what is searched for. */
  add(text: string): void {
    this.#query += text.replace(/\s+/g, " ");
    this.#look(this.#number);
  }

  key(key: string): SearchStep {
    if (matchesKey(key, "ctrl+r")) this.#look(this.entry === undefined ? 0 : this.#number + 1);
    else if (matchesKey(key, "backspace")) {
      this.#query = this.#query.replace(/.$/su, "");
      this.#look(0);
    } else if (matchesKey(key, "enter")) return { kind: this.entry === undefined ? "cancel" : "send" };
    else if (matchesKey(key, "ctrl+g") || matchesKey(key, "ctrl+c")) return { kind: "cancel" };
    else if (matchesKey(key, "escape") || matchesKey(key, "tab")) return { kind: "take" };
    else {
      const typed = decodeKittyPrintable(key) ?? (key >= " " && key !== "\u007f" ? key : undefined);
      if (typed === undefined) return { kind: "take", key };
      this.add(typed);
    }
    return { kind: "on" };
  }

  #look(from: number): void {
    const found = this.#query === "" ? undefined : this.#history.find(this.#query, from);
    this.#failed = found === undefined && this.#query !== "";
    if (found === undefined) {
      if (from === 0) this.entry = undefined;
      return;
    }
    this.entry = found.entry;
    this.#number = found.number;
  }
}
