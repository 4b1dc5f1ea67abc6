/** The parts of a text that `TextPlace` passes one by one: runs of fence characters, line ends, and what is between them. */
export const textTokens = /`+|~+|\n|[<[>]|[^`~\n<[>]+/y;

/** Whether a token may go on in the text that follows it. */
export function mayGoOn(token: string): boolean {
  return token.startsWith("`") || token.startsWith("~");
}

/** Tracks where in a markdown text a reader is: in prose, in code, or in a quote. */
export class TextPlace {
  /** The fence that is open. */
  #fence = "";
  /** The length of the run of backticks that began the code in this line; 0 outside of code. */
  #code = 0;
  #isQuote = false;
  #isLineStart = true;

  /** Whether the place is neither in code nor in a quote. */
  get isProse(): boolean {
    return this.#fence === "" && this.#code === 0 && !this.#isQuote;
  }

  /** Whether only white space and a list's mark are before it in its line. */
  get isLineStart(): boolean {
    return this.#isLineStart;
  }

  pass(token: string): void {
    if (token === "\n") {
      this.#code = 0;
      this.#isQuote = false;
      this.#isLineStart = true;
      return;
    }
    if (token === ">" && this.#isLineStart) this.#isQuote = true;
    else if (mayGoOn(token)) this.#passRun(token);
    if (!/^[\s\d.)*+>-]+$/.test(token)) this.#isLineStart = false;
  }

  #passRun(run: string): void {
    const { length } = run;
    if (this.#isLineStart && length >= 3 && this.#fence === "") this.#fence = run;
    else if (this.#isLineStart && this.#fence !== "" && run.startsWith(this.#fence)) this.#fence = "";
    else if (this.#fence === "" && run.startsWith("`") && (this.#code === 0 || this.#code === length))
      this.#code = this.#code === 0 ? length : 0;
  }
}
