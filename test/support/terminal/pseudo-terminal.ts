import { join } from "node:path";
import { type IPty, spawn } from "@lydell/node-pty";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import xterm from "@xterm/headless";

const program = join(import.meta.dirname, "../../../cli/bin.mjs");
const deadlineMs = 60_000;

/** Where a program runs, and the size of its terminal (80 columns and 24 rows by default). */
export interface PseudoTerminalOptions {
  /** The folder to run in, which is also the home. */
  cwd: string;
  /** Added to a small environment without keys of providers. NO_COLOR is not set. */
  env?: Record<string, string>;
  columns?: number;
  rows?: number;
}

/**
 * A program at a terminal of the operating system, with a screen that shows what a person would see. The program has
 * job control, raw mode and sizes as in any terminal.
 */
export interface PseudoTerminal {
  readonly pid: number;
  /** Types keys, as a keyboard would send them: `\r` is Enter, `\u0003` Ctrl-C, `\u001b[A` the up key. */
  type(keys: string): void;
  /** Pastes a text as a terminal with bracketed paste does: line breaks arrive as `\r`. */
  paste(text: string): void;
  /** Changes the size of the terminal, and tells the program. */
  resize(columns: number, rows?: number): void;
  /** All rows from the first one, those scrolled away included, without blanks at their ends and blank rows at the end. */
  rows(): string[];
  /** `rows` as one text. */
  text(): string;
  /** The row of the cursor and its column, both counted from 0; the row counts as in `rows`. */
  cursor(): { row: number; column: number };
  /** Everything that was written, with its escape sequences. */
  written(): string;
  /**
   * Resolves when the text of the screen holds a text or matches an expression, after all that was written until then is
   * drawn. @throws Error with the screen when the program ends before, or after a minute
   */
  sees(wanted: string | RegExp): Promise<void>;
  /** Resolves when `look` returns true for the screen's text. @throws Error as `sees` */
  until(look: (text: string) => boolean, what?: string): Promise<void>;
  /** Resolves with the exit code when the program has ended and all of its output is drawn. */
  ended: Promise<number>;
  /** Ends the program, if it runs still. */
  kill(): void;
}

const running = new Set<IPty>();

/** Ends what a failed test has left running. */
export function killTerminals(): void {
  for (const pty of running) pty.kill("SIGKILL");
}

/** Starts a program at a terminal of its own. */
export function startAtTerminal(
  command: string,
  args: readonly string[],
  { cwd, env, columns = 80, rows = 24 }: PseudoTerminalOptions,
): PseudoTerminal {
  const screen = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
  screen.loadAddon(new Unicode11Addon());
  screen.unicode.activeVersion = "11";
  const pty = spawn(command, [...args], {
    name: "xterm-256color",
    cols: columns,
    rows,
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, LANG: "C.UTF-8", ...env },
  });
  running.add(pty);
  let written = "";
  let exitCode: number | undefined;
  const looks = new Set<() => void>();
  const look = () => {
    for (const again of looks) again();
  };
  pty.onData((data) => {
    written += data;
    screen.write(data, look);
  });
  // A program asks its terminal for the place of the cursor, say: the screen answers.
  screen.onData((answer) => pty.write(answer));
  const ended = new Promise<number>((resolve) => {
    pty.onExit(({ exitCode: code }) => {
      running.delete(pty);
      screen.write("", () => {
        exitCode = code;
        look();
        resolve(code);
      });
    });
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
    pid: pty.pid,
    type: (keys) => pty.write(keys),
    paste: (pasted) => pty.write(`\u001b[200~${pasted.replaceAll("\n", "\r")}\u001b[201~`),
    resize: (newColumns, newRows = screen.rows) => {
      screen.resize(newColumns, newRows);
      pty.resize(newColumns, newRows);
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
    kill: () => {
      if (exitCode === undefined) pty.kill("SIGKILL");
    },
  };
}

/** Starts `gsv` at a terminal of its own. */
export function startGsvAtTerminal(args: readonly string[], options: PseudoTerminalOptions): PseudoTerminal {
  return startAtTerminal(process.execPath, [program, ...args], options);
}

/**
 * Starts a shell with job control at a terminal of its own, in which `gsv` is a command: for Ctrl-Z, `fg` and `jobs`. Its
 * prompt is `$ `.
 */
export function startShellAtTerminal(options: PseudoTerminalOptions): PseudoTerminal {
  const shell = startAtTerminal("/bin/sh", ["-i"], {
    ...options,
    env: { PS1: "$ ", NODE: process.execPath, GSV: program, ...options.env },
  });
  shell.type('gsv() { "$NODE" "$GSV" "$@"; }\r');
  return shell;
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
