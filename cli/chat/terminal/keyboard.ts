import type { Terminal } from "../../app/terminal.ts";

/** Has the terminal mark the start and the end of a pasted text. */
const pasteOn = "\u001b[?2004h";
const pasteOff = "\u001b[?2004l";

/** The keyboard of a terminal: each key arrives at once and is not echoed, and pasted texts are marked. */
export class Keyboard {
  readonly #terminal: Pick<Terminal, "stdin" | "stdout">;
  readonly #onKeys: (data: Uint8Array | string) => void;

  constructor(terminal: Pick<Terminal, "stdin" | "stdout">, onKeys: (data: Uint8Array | string) => void) {
    this.#terminal = terminal;
    this.#onKeys = onKeys;
  }

  /** Takes the keyboard. Another program may have changed the terminal's mode since the last time. */
  take(): void {
    const { stdin, stdout } = this.#terminal;
    stdin.setRawMode?.(false);
    stdin.setRawMode?.(true);
    stdin.off("data", this.#onKeys);
    stdin.on("data", this.#onKeys);
    stdin.resume();
    stdout.write(pasteOn);
  }

  /** Gives the keyboard back in the mode that other programs expect. */
  release(): void {
    const { stdin, stdout } = this.#terminal;
    stdin.off("data", this.#onKeys);
    stdin.pause();
    stdin.setRawMode?.(false);
    stdout.write(pasteOff);
  }
}
