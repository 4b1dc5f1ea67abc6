import type { Token } from "marked";
import { Component, type VNode } from "preact";
import { memoized } from "../parts/memoized.tsx";
import { GrowingText } from "./growing-text.ts";
import { Block, isDrawn } from "./markdown.tsx";

interface StreamedText {
  text: string;
  /** Text is still arriving. */
  isOpen: boolean;
}

/** Markdown that may grow. A part that is full is drawn once. */
export class StreamedMarkdown extends Component<StreamedText> {
  readonly #growing = new GrowingText();

  override shouldComponentUpdate(next: StreamedText): boolean {
    return next.text !== this.props.text || next.isOpen !== this.props.isOpen;
  }

  override render({ text, isOpen }: StreamedText): VNode {
    const parts = this.#growing.parts(text, !isOpen);
    return (
      <>
        {parts.map((tokens) => (
          <Part tokens={tokens} />
        ))}
      </>
    );
  }
}

const Part = memoized<{ tokens: Token[] }>(({ tokens }) => (
  <div class="part">
    {tokens.filter(isDrawn).map((token) => (
      <Block token={token} />
    ))}
  </div>
));
