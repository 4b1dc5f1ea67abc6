import type { Terminal } from "../../app/terminal.ts";
import type { Layout } from "./markdown.ts";
import { ReplyView } from "./reply-view.ts";
import { Screen } from "./screen.ts";

/** A streaming reply on a terminal without a prompt. It is laid out as it arrives, and remains when it is complete. */
export class StreamedReply {
  readonly #output: Terminal["stdout"];
  readonly #layout: Layout;
  readonly #screen: Screen;
  readonly #resized = () => this.#screen.resized();
  #view: ReplyView | undefined;

  constructor(output: Terminal["stdout"], layout: Layout) {
    this.#output = output;
    this.#layout = layout;
    this.#screen = new Screen(output, () => ({ rows: [""], cursor: { row: 0, column: 0 } }), String);
  }

  /** Adds untrusted text. Before the first call, the cursor must be at the start of a row. */
  add(text: string): void {
    if (this.#view === undefined) {
      this.#view = new ReplyView(this.#layout);
      this.#output.on("resize", this.#resized);
      this.#screen.resume();
    }
    this.#view.add(text);
    this.#screen.show(this.#view);
  }

  /** Ends the reply, complete or not. The cursor is then at the start of the row below it. */
  end(): void {
    if (this.#view === undefined) return;
    this.#view.complete();
    this.#screen.show(undefined);
    this.#screen.pause();
    this.#output.off("resize", this.#resized);
    this.#view = undefined;
  }

  /** Calls `print`, which may write whole lines above the live rows of the reply. */
  around(print: () => void): void {
    if (this.#view === undefined) {
      print();
      return;
    }
    this.#screen.pause();
    print();
    this.#screen.resume();
  }
}
