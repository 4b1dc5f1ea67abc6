import type { Token } from "marked";
import { Component, type VNode } from "preact";
import { GrowingText } from "./growing-text.ts";
import { block } from "./markdown.tsx";

interface StreamedText {
  text: string;
  /** Text is still arriving. */
  isOpen: boolean;
}

/** Markdown that may grow. A part that is full is drawn once. */
export class StreamedMarkdown extends Component<StreamedText> {
  readonly #growing = new GrowingText();
  readonly #drawn = new WeakMap<Token[], VNode>();

  override shouldComponentUpdate(next: StreamedText): boolean {
    return next.text !== this.props.text || next.isOpen !== this.props.isOpen;
  }

  override render({ text, isOpen }: StreamedText): VNode {
    return <>{this.#growing.parts(text, !isOpen).map((part) => this.#part(part))}</>;
  }

  #part(tokens: Token[]): VNode {
    const node = this.#drawn.get(tokens) ?? <div class="part">{tokens.filter(isDrawn).map(block)}</div>;
    this.#drawn.set(tokens, node);
    return node;
  }
}

/** Whether a block has an element: Preact searches for the place of one that has none, at each frame. */
function isDrawn({ type }: Token): boolean {
  return type !== "space" && type !== "def";
}
