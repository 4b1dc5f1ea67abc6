import { appendFile, chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

const most = 1000;
/** Stands for a line break inside an entry: the file has a line for each entry. */
const lineSeparator = "\u2028";

/** What was typed in earlier chats and in this one, and a place in it, to go to older and newer entries. */
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
   * Reads the newest 1000 entries. A file above 2000 lines is cut to the newest 1000. A file that cannot be read is an
   * empty history.
   */
  static async read(file: string): Promise<InputHistory> {
    let lines: string[];
    try {
      lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
    } catch {
      return new InputHistory(file, []);
    }
    if (lines.length > 2 * most) await writeFile(file, `${lines.slice(-most).join("\n")}\n`, { mode: 0o600 });
    const entries = lines.slice(-most).map((line) => line.replaceAll(lineSeparator, "\n"));
    return new InputHistory(file, entries.reverse());
  }

  /** Adds an entry, of one or more lines, to this chat and to the file (mode 600). The newest entry is not repeated. */
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

  /** Whether `text` is the entry of the current place. */
  isAt(text: string): boolean {
    return this.#place >= 0 && this.#entries[this.#place] === text;
  }

  /** Goes to the next older entry, and returns it. `text` is kept when it is not an entry yet. Undefined at the oldest. */
  older(text: string): string | undefined {
    if (this.#place + 1 >= this.#entries.length) return undefined;
    if (this.#place < 0) this.#draft = text;
    this.#place += 1;
    return this.#entries[this.#place];
  }

  /** Goes to the next newer entry, in the end to the text that was kept. Undefined when that is shown already. */
  newer(): string | undefined {
    if (this.#place < 0) return undefined;
    this.#place -= 1;
    return this.#place < 0 ? this.#draft : this.#entries[this.#place];
  }

  /** Forgets the place: the next older entry is the newest. */
  leave(): void {
    this.#place = -1;
    this.#draft = "";
  }

  /**
   * The number of the newest entry from number `from` on that holds `part` (case counts only where `part` has capital
   * letters), and its text.
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
