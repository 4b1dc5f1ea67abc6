/**
 * Why a server could not be asked, as one sentence that says what to do. `isPassing`: the same request may succeed later.
 * `needsLogin`: the server accepts no request with the present token.
 */
export class McpFault extends Error {
  readonly isPassing: boolean;
  readonly needsLogin: boolean;
  constructor(sentence: string, options: { isPassing?: boolean; needsLogin?: boolean } = {}) {
    super(sentence);
    this.name = "McpFault";
    this.isPassing = options.isPassing ?? false;
    this.needsLogin = options.needsLogin ?? false;
  }
}

/** Max characters of a server's own words in a fault. */
const maxWords = 300;

/** A server's own words for a fault, in one line. */
export function wordsOf(said: unknown): string {
  return String(said)
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, maxWords)
    .toWellFormed();
}
