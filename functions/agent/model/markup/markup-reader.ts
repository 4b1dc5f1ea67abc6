import { beginsCall, callTags, lateClose, tagAt, thinkingTags } from "./markup-tags.ts";
import { mayGoOn, TextPlace, textTokens } from "./text-place.ts";

/** An answer without markup. */
export interface Unmarked {
  text: string;
  /** Empty when there is none. */
  thinking: string;
  /** The answer contained a tool call as text, which is in neither. */
  hasCall: boolean;
}

/** What the reader is in. `start`: before the first character of the text. */
type Inside =
  | { kind: "start" | "text" }
  | { kind: "thinking"; close: string }
  | { kind: "call"; close: string | undefined };

/** The markup at a place of the text: what it begins, and the length of its tag. "maybe": the text that follows decides. */
type Found = { inside: Inside; skip: number } | "maybe" | undefined;

const thinkingOpens = thinkingTags.map(([open]) => open);
const callOpens = callTags.map(([open]) => open);

/**
 * Separates an answer's text from the thinking and the tool calls that a model wrote into it, while it is streamed. However
 * the answer is cut into pieces, the result is the same.
 *
 * Thinking stands before the text; its tags in the text are text. A call may stand anywhere in the text except in code and
 * quotes. What is not closed goes on to the end.
 */
export class MarkupReader {
  #inside: Inside = { kind: "start" };
  /** What was added and is not yet decided. */
  #rest = "";
  #text = "";
  #thinking: string | undefined;
  #hasCall = false;
  readonly #place = new TextPlace();

  /** @returns the text that can be shown now. Text before a late `</think>` was shown by then. */
  add(piece: string): string {
    this.#rest += piece;
    return this.#read(false);
  }

  /** Reads the rest as the end of the answer. @returns the text that was not shown yet, and the whole answer */
  end(): Unmarked & { shown: string } {
    const shown = this.#read(true);
    const text = this.#hasCall ? this.#text.trimEnd() : this.#text;
    return { shown, text, thinking: this.#thinking?.trim() ?? "", hasCall: this.#hasCall };
  }

  #read(isEnd: boolean): string {
    let shown = "";
    for (let isMoving = true; isMoving; ) {
      const inside = this.#inside;
      const { length } = this.#rest;
      if (inside.kind === "start") this.#readStart(isEnd);
      else if (inside.kind === "text") shown += this.#readText(isEnd);
      else if ("close" in inside) this.#readEnclosed(inside, isEnd);
      isMoving = this.#inside !== inside || this.#rest.length < length;
    }
    return shown;
  }

  #readStart(isEnd: boolean): void {
    const rest = this.#rest.trimStart();
    const tag = tagAt(rest, thinkingOpens);
    if (tag === "maybe" && !isEnd) return;
    if (typeof tag === "number") {
      const [open, close] = thinkingTags[tag] as (typeof thinkingTags)[number];
      this.#thinking = this.#thinking === undefined ? "" : `${this.#thinking}\n\n`;
      this.#enter({ kind: "thinking", close }, rest.slice(open.length));
    } else this.#enter({ kind: "text" }, this.#thinking === undefined ? this.#rest : rest);
  }

  #readEnclosed({ kind, close }: Extract<Inside, { close: unknown }>, isEnd: boolean): void {
    const end = close === undefined ? -1 : this.#rest.indexOf(close);
    const held = isEnd ? 0 : beginningAtEnd(this.#rest, close ?? "");
    const read = this.#rest.slice(0, end < 0 ? this.#rest.length - held : end);
    if (kind === "thinking") this.#thinking += read;
    if (end < 0) this.#rest = this.#rest.slice(read.length);
    else
      this.#enter(
        { kind: kind === "thinking" ? "start" : "text" },
        this.#rest.slice(end + (close ?? "").length),
      );
  }

  /** Reads text until markup begins, or may begin. */
  #readText(isEnd: boolean): string {
    let at = 0;
    let markup: Found;
    while (at < this.#rest.length) {
      textTokens.lastIndex = at;
      const [token = ""] = textTokens.exec(this.#rest) ?? [];
      if (mayGoOn(token) && at + token.length === this.#rest.length && !isEnd) break;
      markup =
        this.#place.isProse && /[<[]/.test(token) ? this.#markupAt(this.#rest.slice(at), isEnd) : undefined;
      if (markup && !(markup === "maybe" && isEnd)) break;
      this.#place.pass(token);
      at += token.length;
    }
    const read = this.#rest.slice(0, at);
    this.#text += read;
    this.#rest = this.#rest.slice(at);
    if (typeof markup === "object") this.#leaveText(markup);
    return read;
  }

  #markupAt(text: string, isEnd: boolean): Found {
    if (this.#thinking === undefined && this.#place.isLineStart) {
      const late = tagAt(text, [lateClose]);
      const line = text.slice(lateClose.length);
      if (late === "maybe" || (late === 0 && !isEnd && /^[ \t]*$/.test(line))) return "maybe";
      if (late === 0 && /^[ \t]*(\n|$)/.test(line))
        return { inside: { kind: "start" }, skip: lateClose.length };
    }
    const tag = tagAt(text, callOpens);
    if (typeof tag !== "number") return tag;
    const [open = "", close] = callTags[tag] ?? [];
    const isCall = beginsCall(text.slice(open.length));
    if (isCall === undefined) return "maybe";
    return isCall ? { inside: { kind: "call", close }, skip: open.length } : undefined;
  }

  #leaveText({ inside, skip }: Exclude<Found, "maybe" | undefined>): void {
    if (inside.kind === "call") this.#hasCall = true;
    else {
      this.#thinking = this.#text;
      this.#text = "";
    }
    this.#enter(inside, this.#rest.slice(skip));
  }

  #enter(inside: Inside, rest: string): void {
    this.#inside = inside;
    this.#rest = rest;
  }
}

/** The length of the longest beginning of a tag at the end of a text. */
function beginningAtEnd(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--)
    if (text.endsWith(tag.slice(0, length))) return length;
  return 0;
}
