import { appendFile, chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

const maxEntries = 1000;
/** Replaces a line break inside an entry, because each entry is one line of the file. */
const lineSeparator = "\u2028";

/** The input history of this and earlier chats, and the current position in it. */
export class InputHistory {
  readonly #file: string;
  /** The newest first. */
  readonly #entries: string[];
  #written = Promise.resolve();
  #place = -1;
  #draft = "";

  private constructor(file: string, entries: string[]) {
    this.#file = file;
    this.#entries = entries;
  }

  /**
   * Reads the newest 1000 entries. A file above 2000 lines is shortened to the newest 1000. An unreadable file is an
   * empty history.
   */
  static async read(file: string): Promise<InputHistory> {
    let lines: string[];
    try {
      lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
    } catch {
      return new InputHistory(file, []);
    }
    if (lines.length > 2 * maxEntries)
      await writeFile(file, `${lines.slice(-maxEntries).join("\n")}\n`, { mode: 0o600 });
    const entries = lines.slice(-maxEntries).map((line) => line.replaceAll(lineSeparator, "\n"));
    return new InputHistory(file, entries.reverse());
  }

  /** Adds an entry to the history and to the file (mode 600), unless it equals the newest entry. */
  add(entry: string): void {
    this.leave();
    if (this.#entries[0] === entry) return;
    this.#entries.unshift(entry);
    this.#written = this.#written.then(() => this.#write(entry));
  }

  /** Resolves when all entries are in the file. */
  get written(): Promise<void> {
    return this.#written;
  }

  /** Whether `text` is the entry at the current position. */
  isAt(text: string): boolean {
    return this.#place >= 0 && this.#entries[this.#place] === text;
  }

  /** Moves to the next older entry and returns it; undefined at the oldest. The first move stores `text` as the draft. */
  older(text: string): string | undefined {
    if (this.#place + 1 >= this.#entries.length) return undefined;
    if (this.#place < 0) this.#draft = text;
    this.#place += 1;
    return this.#entries[this.#place];
  }

  /** Moves to the next newer entry, finally to the draft, and returns it; undefined when already at the draft. */
  newer(): string | undefined {
    if (this.#place < 0) return undefined;
    this.#place -= 1;
    return this.#place < 0 ? this.#draft : this.#entries[this.#place];
  }

  /** Resets the position: the next older entry is the newest. */
  leave(): void {
    this.#place = -1;
    this.#draft = "";
  }

  /**
   * Finds the newest entry, from number `from` on, that contains `part`. Ignores case unless `part` has capital letters.
   */
  find(part: string, from: number): { number: number; entry: string } | undefined {
    const anyCase = part === part.toLowerCase();
    const holds = (entry: string) => (anyCase ? entry.toLowerCase() : entry).includes(part);
    const number = this.#entries.findIndex((entry, index) => index >= from && holds(entry));
    const entry = this.#entries[number];
    return entry === undefined ? undefined : { number, entry };
  }

  /** Errors are ignored: the chat works without the file. */
  async #write(entry: string): Promise<void> {
    try {
      await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
      await appendFile(this.#file, `${entry.replaceAll("\n", lineSeparator)}\n`, { mode: 0o600 });
      await chmod(this.#file, 0o600);
    } catch {
      return;
    }
  }
}
