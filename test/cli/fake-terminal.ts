import { PassThrough } from "node:stream";
import type { Terminal } from "../../cli/app/terminal.ts";

export interface FakeTerminal extends Terminal {
  /** Types keys, as the terminal would send them. */
  type(keys: string): void;
  /** Everything written so far, escape sequences included. */
  written(): string;
  /** The visible rows of the screen, without trailing blanks. */
  screen(): string[];
}

/** A terminal for input and output, with a screen that supports the cursor movements this program uses. */
export function fakeTerminal(env: Record<string, string>, cwd: string, columns = 80): FakeTerminal {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns });
  let text = "";
  output.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return {
    stdin: input,
    stdout: output,
    stderr: output,
    env: { TERM: "xterm", NO_COLOR: "1", ...env },
    cwd,
    type: (keys) => input.write(keys),
    written: () => text,
    screen: () => render(text, columns),
  };
}

function render(text: string, columns: number): string[] {
  const rows: string[][] = [[]];
  let [row, column] = [0, 0];
  const move = (to: number) => {
    row = Math.max(0, to);
    while (rows.length <= row) rows.push([]);
  };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this is a terminal
  for (const [token, count, command] of text.matchAll(/\u001b\[\??([\d;]*)([A-Za-z])|[\s\S]/gu)) {
    const n = Number(count || 1);
    if (command === "A") move(row - n);
    else if (command === "B") move(row + n);
    else if (command === "C") column += n;
    else if (command === "D") column = Math.max(0, column - n);
    else if (command === "G") column = n - 1;
    else if (command === "K") rows[row]?.splice(column);
    else if (command === "J") {
      rows[row]?.splice(column);
      rows.splice(row + 1);
    } else if (command !== undefined) continue;
    else if (token === "\n") {
      move(row + 1);
      column = 0;
    } else if (token === "\r") column = 0;
    else {
      if (column >= columns) {
        move(row + 1);
        column = 0;
      }
      const cells = rows[row] ?? [];
      while (cells.length < column) cells.push(" ");
      cells[column++] = token;
    }
  }
  return rows.map((cells) => cells.join("").trimEnd());
}
