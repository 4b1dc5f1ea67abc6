import { StringDecoder } from "node:string_decoder";
import {
  CURSOR_MARKER,
  Editor,
  type EditorTheme,
  matchesKey,
  StdinBuffer,
  type TUI,
  visibleWidth,
} from "@earendil-works/pi-tui";
import { printable } from "../../app/printable.ts";
import type { Style } from "../../app/terminal.ts";
import { type Completion, startedWord } from "./completion.ts";
import { HistorySearch } from "./history-search.ts";
import type { InputHistory } from "./input-history.ts";
import type { PromptRows } from "./screen.ts";

/** Actions of keys that the prompt does not handle itself. */
interface PromptActions {
  /** Enter. `text` is the untrimmed input; `shown` is the input as displayed, with long pasted texts abbreviated. */
  submit(text: string, shown: string): void;
  /** Ctrl-C */
  interrupt(): void;
  /** Ctrl-D without input */
  leave(): void;
  /** Esc without an open list or search */
  escape(): void;
  /** Ctrl-X Ctrl-E */
  edit(): void;
  /** Ctrl-Z */
  suspend(): void;
  /** Ctrl-L */
  clear(): void;
  /** Any key except Ctrl-C */
  key(): void;
  /** The prompt has changed. */
  draw(): void;
}

/** Time in which Esc may begin a longer key sequence, in ms. Over a slow connection, its bytes arrive one by one. */
const escapeMs = 50;
const lead = "> ";
/** Marks the rows that the editor draws above and below the text. */
const border = "\u0001";

/**
 * The input of the chat: a multi-line editor with the keys of a shell's line editor, completion, history search, and
 * pasting.
 */
export class Prompt {
  readonly #editor: Editor;
  readonly #history: InputHistory;
  readonly #completion: Completion;
  readonly #actions: PromptActions;
  readonly #style: Style;
  readonly #keys = new StdinBuffer({ escapeTimeout: escapeMs });
  readonly #decoder = new StringDecoder("utf8");
  #search: HistorySearch | undefined;
  /** The input before the search. */
  #draft = "";
  /** Width of the text in columns. */
  #width = 80;
  /** Ctrl-X was pressed: the next key completes the chord. */
  #isChord = false;

  /** `rows` returns the number of rows of the terminal. */
  constructor(
    parts: { history: InputHistory; completion: Completion; style: Style; rows(): number },
    actions: PromptActions,
  ) {
    this.#history = parts.history;
    this.#completion = parts.completion;
    this.#style = parts.style;
    this.#actions = actions;
    const host = {
      requestRender: () => actions.draw(),
      terminal: {
        get rows() {
          return parts.rows();
        },
      },
    };
    // The editor uses only these members of the library's user interface.
    this.#editor = new Editor(host as unknown as TUI, themeOf(parts.style), { autocompleteMaxVisible: 8 });
    this.#editor.focused = true;
    this.#editor.setAutocompleteProvider(parts.completion);
    this.#keys.on("data", (key) => this.#key(key));
    this.#keys.on("paste", (text) => this.#paste(text));
  }

  /** Handles input of the terminal. */
  feed(data: Uint8Array): void {
    this.#keys.process(this.#decoder.write(Buffer.from(data)));
  }

  /** The input, with pasted texts in full. */
  get text(): string {
    return this.#editor.getExpandedText();
  }

  /** Replaces the input. */
  setText(text: string): void {
    this.#search = undefined;
    this.#history.leave();
    this.#editor.setText(printable(text));
    this.#actions.draw();
  }

  /** Stops handling keys. */
  close(): void {
    this.#keys.destroy();
  }

  /** Lays the prompt out for a terminal of `columns` columns. */
  layout(columns: number): PromptRows {
    this.#width = columns - lead.length - 1;
    const [top = "", ...others] = this.#editor.render(this.#width);
    const end = others.findIndex((row) => row.startsWith(border));
    const rows: string[] = [];
    const cursor = { row: 0, column: 0 };
    for (const row of others.slice(0, end)) {
      const at = row.indexOf(CURSOR_MARKER);
      if (at >= 0) {
        cursor.row = rows.length;
        cursor.column = lead.length + visibleWidth(row.slice(0, at));
      }
      rows.push(`${rows.length === 0 ? lead : " ".repeat(lead.length)}${plainRow(row)}`.trimEnd());
    }
    rows[0] = (rows[0] ?? "").padEnd(lead.length);
    const hidden = [top, others[end] ?? ""].flatMap((row) => /[↑↓] \d+ more/.exec(row) ?? []);
    if (hidden.length > 0) rows.push(this.#style.dim(`  (${hidden.join(", ")})`));
    rows.push(...others.slice(end + 1).map((row) => row.trimEnd()));
    if (this.#search !== undefined) rows.push(this.#style.dim(this.#search.label));
    return { rows, cursor };
  }

  #paste(text: string): void {
    // A terminal pastes line breaks as carriage returns; `printable` converts them and removes control characters.
    const safe = printable(text);
    if (this.#search !== undefined) {
      this.#search.add(safe);
      this.#showFound(this.#search);
    } else this.#editor.handleInput(`\u001b[200~${safe}\u001b[201~`);
    this.#actions.draw();
  }

  #key(key: string): void {
    if (!matchesKey(key, "ctrl+c")) this.#actions.key();
    if (this.#search !== undefined) this.#searchKey(this.#search, key);
    else if (this.#isChord) {
      this.#isChord = false;
      if (matchesKey(key, "ctrl+e")) this.#actions.edit();
    } else if (!this.#ownKey(key)) this.#editorKey(key);
    this.#actions.draw();
  }

  /** Handles a key that is not the editor's. Returns false for the editor's keys. */
  #ownKey(key: string): boolean {
    const isListed = this.#editor.isShowingAutocomplete();
    const own: [Parameters<typeof matchesKey>[1], () => unknown][] = [
      ["ctrl+c", () => this.#actions.interrupt()],
      ["ctrl+z", () => this.#actions.suspend()],
      ["ctrl+l", () => this.#actions.clear()],
      ["ctrl+r", () => this.#startSearch()],
      ["ctrl+x", () => (this.#isChord = true)],
      ["tab", () => this.#complete()],
      ["ctrl+p", () => this.#older()],
      ["ctrl+n", () => this.#newer()],
    ];
    if (this.#editor.getText() === "") own.push(["ctrl+d", () => this.#actions.leave()]);
    if (isListed) own.push(["enter", () => this.#editor.handleInput("\t")]);
    else {
      own.push(["escape", () => this.#actions.escape()], ["enter", () => this.#enter()]);
      if (this.#isAtHistory("first")) own.push(["up", () => this.#older()]);
      if (this.#isAtHistory("last")) own.push(["down", () => this.#newer()]);
    }
    // Ctrl-J inserts a line break, but the library also matches it as Enter.
    const action = key === "\n" ? undefined : own.find(([name]) => matchesKey(key, name))?.[1];
    action?.();
    return action !== undefined;
  }

  #editorKey(key: string): void {
    this.#completion.wanted = this.#editor.isShowingAutocomplete();
    this.#editor.handleInput(key);
  }

  #enter(): void {
    const shown = this.#editor.getText().trim();
    const text = this.text;
    this.#editor.onSubmit = () => this.#actions.submit(text, shown);
    this.#editor.handleInput("\r");
  }

  /** Completes the word before the cursor. Shows a list when several words match. */
  #complete(): void {
    this.#completion.wanted = true;
    const { line, col } = this.#editor.getCursor();
    const started = startedWord((this.#editor.getLines()[line] ?? "").slice(0, col), line === 0);
    const [only, ...others] = started?.startsWith("/") ? this.#completion.commands(started) : [];
    if (started !== undefined && only !== undefined && others.length === 0)
      this.#editor.insertTextAtCursor(`${only.value.slice(started.length)} `);
    else if (started !== undefined) this.#editor.handleInput("\t");
  }

  /** Whether the up key (in the first row) or the down key (in the last one) moves through the history. */
  #isAtHistory(edge: "first" | "last"): boolean {
    if (this.#history.isAt(this.#editor.getText())) return true;
    const { line, col } = this.#editor.getCursor();
    const lines = this.#editor.getLines();
    const edgeLine = edge === "first" ? 0 : lines.length - 1;
    const text = lines[edgeLine] ?? "";
    // In a line of several rows, these keys move between its rows until the cursor reaches its start or end.
    const isOneRow = visibleWidth(text) < this.#width;
    return line === edgeLine && (isOneRow || col === (edge === "first" ? 0 : text.length));
  }

  #older(): void {
    const entry = this.#history.older(this.text);
    if (entry !== undefined) this.#editor.setText(printable(entry));
  }

  #newer(): void {
    const entry = this.#history.newer();
    if (entry !== undefined) this.#editor.setText(printable(entry));
  }

  #startSearch(): void {
    this.#draft = this.text;
    this.#history.leave();
    this.#search = new HistorySearch(this.#history);
  }

  #searchKey(search: HistorySearch, key: string): void {
    const step = search.key(key);
    if (step.kind === "on") {
      this.#showFound(search);
      return;
    }
    this.#search = undefined;
    if (step.kind === "cancel") this.#editor.setText(this.#draft);
    if (step.kind === "send") this.#enter();
    if (step.kind === "edit" && step.key !== undefined) this.#key(step.key);
  }

  #showFound({ entry }: HistorySearch): void {
    this.#editor.setText(entry === undefined ? this.#draft : printable(entry));
  }
}

function themeOf({ dim, bold }: Style): EditorTheme {
  return {
    borderColor: (text) => border + text,
    selectList: {
      selectedPrefix: String,
      selectedText: bold,
      description: dim,
      scrollInfo: dim,
      noMatch: dim,
    },
  };
}

/** A row of the editor without its drawn cursor, because the terminal's own cursor is used. */
function plainRow(row: string): string {
  const [before = "", after] = row.split(CURSOR_MARKER);
  return after === undefined ? row : before + after.replace("\u001b[7m", "").replace("\u001b[0m", "");
}
