import { lexer, type Token } from "marked";

/** Blocks that are drawn as one part: what is off the screen is skipped by part. */
const partBlocks = 16;

/** A definition of a link may be used by any block before it. */
const definition = /^ {0,3}\[[^\]\n]+\]:/m;

/**
 * Splits growing text into blocks, and these into parts. Only the last block is parsed again: the ones before it cannot change
 * any more.
 */
export class GrowingText {
  #full: Token[][] = [];
  /** Closed blocks that do not fill a part yet. */
  #closed: Token[] = [];
  /** Characters of the closed blocks. */
  #length = 0;
  #text = "";

  /**
   * The parts of a text. A part that is full is the same array each time.
   * @param isComplete no text follows. With definitions of links it is parsed whole.
   */
  parts(text: string, isComplete = false): readonly Token[][] {
    const whole = text.replaceAll("\r\n", "\n");
    if (!whole.startsWith(this.#text) || (isComplete && definition.test(whole))) this.#restart();
    this.#text = whole;
    const open: Token[] = lexer(whole.slice(this.#length));
    const last = open.findLastIndex(({ type }) => type !== "space");
    for (const token of open.slice(0, Math.max(0, last))) {
      // Where the lexer has changed the text, its length is unknown.
      if (!whole.startsWith(token.raw, this.#length)) break;
      this.#close(token);
      open.shift();
    }
    return [...this.#full, [...this.#closed, ...open]];
  }

  #close(token: Token): void {
    this.#length += token.raw.length;
    this.#closed.push(token);
    if (this.#closed.length < partBlocks) return;
    this.#full.push(this.#closed);
    this.#closed = [];
  }

  #restart(): void {
    this.#full = [];
    this.#closed = [];
    this.#length = 0;
  }
}
