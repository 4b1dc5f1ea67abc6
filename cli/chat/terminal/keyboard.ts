import type { Terminal } from "../../app/terminal.ts";

/** Has the terminal mark the start and the end of a pasted text. */
const pasteOn = "\u001b[?2004h";
const pasteOff = "\u001b[?2004l";

const [lineFeed, carriageReturn] = [10, 13];

/** The keyboard of a terminal: each key arrives at once and is not echoed, and pasted texts are marked. */
export class Keyboard {
  readonly #terminal: Pick<Terminal, "stdin" | "stdout">;
  readonly #onData: (data: Uint8Array | string) => void;
  /** What arrives may have been typed before the keyboard was taken: the terminal then made a line feed of each Enter. */
  #isEarly = false;

  /** `onKeys` gets what is typed, in UTF-8 that may be cut anywhere. */
  constructor(terminal: Pick<Terminal, "stdin" | "stdout">, onKeys: (data: Uint8Array) => void) {
    this.#terminal = terminal;
    this.#onData = (data) => {
      const bytes = Buffer.from(data);
      const isEarly = this.#isEarly && !bytes.includes(carriageReturn);
      onKeys(isEarly ? bytes.map((byte) => (byte === lineFeed ? carriageReturn : byte)) : bytes);
    };
  }

  /** Takes the keyboard. Another program may have changed the terminal's mode since the last time. */
  take(): void {
    const { stdin, stdout } = this.#terminal;
    stdin.setRawMode?.(false);
    stdin.setRawMode?.(true);
    stdin.off("data", this.#onData);
    stdin.on("data", this.#onData);
    stdin.resume();
    stdout.write(pasteOn);
    this.#isEarly = true;
    // What was typed before is read in the next turn of the event loop.
    setImmediate(() =>
      setImmediate(() => {
        this.#isEarly = false;
      }),
    );
  }

  /** Gives the keyboard back in the mode that other programs expect. */
  release(): void {
    const { stdin, stdout } = this.#terminal;
    stdin.off("data", this.#onData);
    stdin.pause();
    stdin.setRawMode?.(false);
    stdout.write(pasteOff);
  }
}
