import { Unicode11Addon } from "@xterm/addon-unicode11";
import xterm from "@xterm/headless";

const deadlineMs = 60_000;

/** The size of a terminal (80 columns and 24 rows by default). */
export interface TerminalSize {
  columns?: number;
  rows?: number;
}

/** The side of a terminal with the screen and the keyboard. */
export interface TerminalDevice {
  onData(handler: (data: string) => void): unknown;
  write(keys: string): void;
  resize(columns: number, rows: number): void;
  /** Resolves with the program's exit code, once `onData` has received all output. */
  exited: Promise<number>;
}

/** A user's view of a terminal. */
export interface TerminalScreen {
  /** Types keys as a keyboard sends them: `\r` is Enter, `\u0003` Ctrl-C, `\u001b[A` the up key. */
  type(keys: string): void;
  /** Pastes a text as a terminal with bracketed paste does: line breaks arrive as `\r`. */
  paste(text: string): void;
  /** Changes the size of the terminal, and notifies the program. */
  resize(columns: number, rows?: number): void;
  /** All rows, including those that have scrolled out of view, without trailing blanks and blank rows. */
  rows(): string[];
  /** `rows` as one text. */
  text(): string;
  /** The row and the column of the cursor, counted from 0; the row is an index into `rows`. */
  cursor(): { row: number; column: number };
  /** The whole output, with its escape sequences. */
  written(): string;
  /**
   * Resolves when the screen contains a text or matches an expression, after all output so far was drawn.
   * @throws Error with the screen if the program ends first, or after a minute
   */
  sees(wanted: string | RegExp): Promise<void>;
  /** Resolves when `look` returns true for the screen's text. @throws Error as `sees` */
  until(look: (text: string) => boolean, what?: string): Promise<void>;
  /** Resolves with the exit code when the program has ended and all of its output is drawn. */
  ended: Promise<number>;
}

/** A screen that displays what a program writes to a terminal. */
export function screenOf(device: TerminalDevice, { columns = 80, rows = 24 }: TerminalSize): TerminalScreen {
  const screen = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
  screen.loadAddon(new Unicode11Addon());
  screen.unicode.activeVersion = "11";
  let written = "";
  let exitCode: number | undefined;
  const looks = new Set<() => void>();
  const look = () => {
    for (const again of looks) again();
  };
  device.onData((data) => {
    written += data;
    screen.write(data, look);
  });
  // The screen answers the program's queries, such as for the position of the cursor.
  screen.onData((answer) => device.write(answer));
  const ended = device.exited.then(async (code) => {
    await new Promise<void>((resolve) => screen.write("", resolve));
    exitCode = code;
    look();
    return code;
  });
  const text = () => rowsOf(screen).join("\n");
  const until = (isThere: (text: string) => boolean, what = String(isThere)) =>
    new Promise<void>((resolve, reject) => {
      const fail = (why: string) => {
        end();
        reject(new Error(`${why} before the terminal showed ${what}; it shows:\n${text()}`));
      };
      const timer = setTimeout(() => fail("a minute passed"), deadlineMs);
      const again = () => {
        if (isThere(text())) {
          end();
          resolve();
        } else if (exitCode !== undefined) fail(`the program ended with ${exitCode}`);
      };
      const end = () => {
        clearTimeout(timer);
        looks.delete(again);
      };
      looks.add(again);
      again();
    });
  return {
    type: (keys) => device.write(keys),
    paste: (pasted) => device.write(`\u001b[200~${pasted.replaceAll("\n", "\r")}\u001b[201~`),
    resize: (newColumns, newRows = screen.rows) => {
      screen.resize(newColumns, newRows);
      device.resize(newColumns, newRows);
    },
    rows: () => rowsOf(screen),
    text,
    cursor: () => {
      const { baseY, cursorY, cursorX } = screen.buffer.active;
      return { row: baseY + cursorY, column: cursorX };
    },
    written: () => written,
    sees: (wanted) =>
      until(
        (shown) => (typeof wanted === "string" ? shown.includes(wanted) : wanted.test(shown)),
        String(wanted),
      ),
    until,
    ended,
  };
}

function rowsOf({ buffer }: InstanceType<typeof xterm.Terminal>): string[] {
  const { active } = buffer;
  const rows = Array.from(
    { length: active.length },
    (_, row) => active.getLine(row)?.translateToString(true).trimEnd() ?? "",
  );
  const last = rows.findLastIndex((row) => row !== "");
  return rows.slice(0, last + 1);
}
