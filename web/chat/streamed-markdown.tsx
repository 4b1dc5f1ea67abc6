import { lexer, type Token } from "marked";
import { Component, type VNode } from "preact";
import { block } from "./markdown.tsx";

/** Splits growing text into blocks. Only the last block is parsed again: the ones before it cannot change any more. */
export class GrowingText {
  #closed: Token[] = [];
  /** Characters of `#closed`. */
  #length = 0;
  #text = "";

  /** The blocks of a text. It is parsed from its start if it does not continue the text before. */
  blocks(text: string): Token[] {
    const whole = text.replaceAll("\r\n", "\n");
    if (!whole.startsWith(this.#text)) {
      this.#closed = [];
      this.#length = 0;
    }
    this.#text = whole;
    const open: Token[] = lexer(whole.slice(this.#length));
    const last = open.findLastIndex(({ type }) => type !== "space");
    for (const token of open.slice(0, Math.max(0, last))) {
      // Where the lexer has changed the text, its length is unknown.
      if (!whole.startsWith(token.raw, this.#length)) break;
      this.#closed.push(token);
      this.#length += token.raw.length;
      open.shift();
    }
    return [...this.#closed, ...open];
  }
}

/** Markdown that is still arriving. */
export class StreamedMarkdown extends Component<{ text: string }> {
  readonly #growing = new GrowingText();

  override shouldComponentUpdate(next: { text: string }): boolean {
    return next.text !== this.props.text;
  }

  override render({ text }: { text: string }): VNode {
    return <>{this.#growing.blocks(text).map(block)}</>;
  }
}
