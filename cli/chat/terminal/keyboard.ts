import type { Terminal } from "../../app/terminal.ts";

/** Makes the terminal mark the start and the end of pasted text. */
const pasteOn = "\u001b[?2004h";
const pasteOff = "\u001b[?2004l";

const [lineFeed, carriageReturn] = [10, 13];

/** The keyboard of a terminal in raw mode: keys arrive at once, are not echoed, and pasted text is marked. */
export class Keyboard {
  readonly #terminal: Pick<Terminal, "stdin" | "stdout">;
  readonly #onData: (data: Uint8Array | string) => void;
  /** Whether input may have been typed before `open`, when the terminal still converted Enter to a line feed. */
  #isEarly = false;

  /** `onKeys` receives the input as chunks of UTF-8, which may end within a character. */
  constructor(terminal: Pick<Terminal, "stdin" | "stdout">, onKeys: (data: Uint8Array) => void) {
    this.#terminal = terminal;
    this.#onData = (data) => {
      const bytes = Buffer.from(data);
      const isEarly = this.#isEarly && !bytes.includes(carriageReturn);
      onKeys(isEarly ? bytes.map((byte) => (byte === lineFeed ? carriageReturn : byte)) : bytes);
    };
  }

  /** Starts reading keys. Sets the mode again, because another program may have changed it. */
  open(): void {
    const { stdin, stdout } = this.#terminal;
    stdin.setRawMode?.(false);
    stdin.setRawMode?.(true);
    stdin.off("data", this.#onData);
    stdin.on("data", this.#onData);
    stdin.resume();
    stdout.write(pasteOn);
    this.#isEarly = true;
    // Earlier input is read in the next turn of the event loop.
    setImmediate(() =>
      setImmediate(() => {
        this.#isEarly = false;
      }),
    );
  }

  /** Stops reading keys, and restores the mode that other programs expect. */
  release(): void {
    const { stdin, stdout } = this.#terminal;
    stdin.off("data", this.#onData);
    stdin.pause();
    stdin.setRawMode?.(false);
    stdout.write(pasteOff);
  }
}
