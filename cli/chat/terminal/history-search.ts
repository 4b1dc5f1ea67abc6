import { decodeKittyPrintable, matchesKey } from "@earendil-works/pi-tui";
import type { InputHistory } from "./input-history.ts";

/**
 * The effect of a key on a search. `on`: the search continues. `edit`: it ends with the found entry in the editor, which
 * then handles `key`, if any. `send`: it ends and sends the entry. `cancel`: it restores the earlier input.
 */
type SearchStep = { kind: "on" } | { kind: "edit"; key?: string } | { kind: "send" } | { kind: "cancel" };

/** A search in the history for the newest entry that contains the typed text. */
export class HistorySearch {
  readonly #history: InputHistory;
  #query = "";
  #number = 0;
  /** The found entry. */
  entry: string | undefined;
  #failed = false;

  constructor(history: InputHistory) {
    this.#history = history;
  }

  /** The line that shows the search. */
  get label(): string {
    return `${this.#failed ? "not found in" : "search"} the history: ${this.#query}`;
  }

  /** Appends text to the query. */
  add(text: string): void {
    this.#query += text.replace(/\s+/g, " ");
    this.#find(this.#number);
  }

  key(key: string): SearchStep {
    if (matchesKey(key, "ctrl+r")) this.#find(this.entry === undefined ? 0 : this.#number + 1);
    else if (matchesKey(key, "backspace")) {
      this.#query = this.#query.replace(/.$/su, "");
      this.#find(0);
    } else if (matchesKey(key, "enter")) return { kind: this.entry === undefined ? "cancel" : "send" };
    else if (matchesKey(key, "ctrl+g") || matchesKey(key, "ctrl+c")) return { kind: "cancel" };
    else if (matchesKey(key, "escape") || matchesKey(key, "tab")) return { kind: "edit" };
    else {
      const typed = decodeKittyPrintable(key) ?? (key >= " " && key !== "\u007f" ? key : undefined);
      if (typed === undefined) return { kind: "edit", key };
      this.add(typed);
    }
    return { kind: "on" };
  }

  #find(from: number): void {
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
