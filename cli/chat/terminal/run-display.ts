import type { ChatError, ChatReply } from "../../../shared/protocol/events.ts";
import { textOf } from "../../../shared/protocol/messages.ts";
import { isCommandEnd } from "../../../shared/session/command-end.ts";
import { percentText } from "../../../shared/session/commands/context-command.ts";
import { spendingText } from "../../../shared/session/commands/cost-command.ts";
import { shorten } from "../../app/columns.ts";
import type { Style } from "../../app/terminal.ts";
import { drawable } from "../../app/text-width.ts";
import type { AttachedFile } from "../attached-files.ts";
import type { Conversation, TurnOutcome } from "../conversation.ts";
import { Progress } from "../progress.ts";
import type { RunStep } from "../run-view.ts";
import { cutLine, toolLine, waitingLine } from "../tool-line.ts";
import { type Layout, plainLayout } from "./markdown.ts";
import { ReplyView } from "./reply-view.ts";
import type { Screen } from "./screen.ts";

/** Max delay before text is drawn, in ms. Parts of a reply that arrive within it are drawn together. */
const drawingMs = 25;

/** Shows runs on a screen: streaming replies, tool calls, and outcomes. */
export class RunDisplay {
  readonly #screen: Screen;
  readonly #style: Style;
  readonly #layout: Layout;
  readonly #costLine: boolean;
  /** The messages without an outcome by their progress, oldest first. */
  readonly #waiting = new Map<Progress, string>();
  readonly #ticks: NodeJS.Timeout;
  #reply: ReplyView | undefined;
  #drawing: NodeJS.Timeout | undefined;

  /** @param costLine whether a line after each turn shows its tokens, cost and time */
  constructor(screen: Screen, style: Style, layout: Layout, costLine: boolean) {
    this.#screen = screen;
    this.#style = style;
    this.#layout = layout;
    this.#costLine = costLine;
    this.#ticks = setInterval(() => this.#working(), 1000);
  }

  /** Sends a message and shows the steps of its run. The caller shows the outcome. */
  async send(
    conversation: Conversation,
    message: string,
    files: readonly AttachedFile[],
  ): Promise<TurnOutcome> {
    const progress = new Progress();
    this.#waiting.set(progress, message);
    const onStep = (step: RunStep) => {
      progress.update(step);
      this.#step(step);
    };
    const turn = conversation.send(message, onStep, files);
    this.#working();
    const outcome = await turn;
    this.#waiting.delete(progress);
    return outcome;
  }

  /** Prints a dim line above the prompt. */
  note(text: string): void {
    this.#endReply();
    this.#screen.print(this.#style.dim(drawable(`(${text})`)));
  }

  /** Prints a complete untrusted text, laid out as a reply or unchanged. */
  text(text: string, isReply = false): void {
    this.#endReply();
    const view = new ReplyView(isReply ? this.#layout : plainLayout);
    view.add(text);
    view.complete();
    this.#screen.show(view);
    this.#screen.show(undefined);
  }

  /** Shows how a message ended. @param canRetry whether /retry sends it again */
  outcome({ status, text, error, turn }: TurnOutcome, canRetry: boolean): void {
    this.#endReply();
    if (status === "command") this.text(text);
    if (status === "failed") this.#screen.print(this.#style.red(drawable(`error: ${error}`)));
    if (status === "stopped") this.note("stopped");
    if (canRetry) this.note("/retry sends it again");
    if (turn && this.#costLine) this.note(turnLine(turn));
    this.#screen.print("");
    this.#working();
  }

  /** Shows the answer of a run that this chat did not start. @param title what it answers; default: by the run's id */
  otherRun(end: ChatReply | ChatError, title?: string): void {
    const known = isCommandEnd(end.runId)
      ? "a background command has ended"
      : "the answer to another message in this session";
    this.note(title ?? known);
    if (end.state === "error") this.text(`error: ${end.error}`);
    else this.text(textOf(end.message), true);
    this.#screen.print("");
  }

  /** Prints the received part of an unfinished reply, and stops updating the screen. */
  finish(): void {
    clearInterval(this.#ticks);
    this.#endReply();
    this.#screen.status("");
  }

  #step(step: RunStep): void {
    switch (step.kind) {
      case "text":
        this.#working();
        this.#stream(step.text);
        break;
      case "restart":
        this.note("the reply starts over");
        break;
      case "reply":
        this.#endReply();
        this.#working();
        break;
      case "calling":
      case "queued":
      case "begun":
      case "silence":
        this.#working();
        break;
      case "waiting":
        this.note(waitingLine(step));
        this.#working();
        break;
      case "cut":
        this.note(cutLine);
        break;
      case "tool": {
        this.#endReply();
        const line = drawable(toolLine(step));
        this.#screen.print(step.isError ? this.#style.red(line) : this.#style.dim(line));
        this.#working();
      }
    }
  }

  /** Shows the progress of the oldest message without an outcome, and below it the messages that wait. */
  #working(): void {
    const [oldest] = this.#waiting.keys();
    const rows = [...(oldest?.rows() ?? []), ...queueLines(this.#waiting)];
    this.#screen.status(rows.map((row) => drawable(row)).join("\n"));
  }

  #stream(text: string): void {
    this.#reply ??= new ReplyView(this.#layout);
    this.#reply.add(text);
    this.#drawing ??= setTimeout(() => this.#drawReply(), drawingMs);
  }

  #drawReply(): void {
    clearTimeout(this.#drawing);
    this.#drawing = undefined;
    this.#screen.show(this.#reply);
  }

  #endReply(): void {
    if (this.#reply === undefined) return;
    this.#reply.complete();
    this.#drawReply();
    this.#reply = undefined;
    this.#screen.show(undefined);
  }
}

/** Max number of queued messages that are listed. */
const maxListed = 5;

/** One line for each message that has not begun: `queued 2: its text`. */
function queueLines(waiting: ReadonlyMap<Progress, string>): string[] {
  const lines = [...waiting]
    .filter(([{ queued }]) => queued)
    .map(([{ queued }, text], at) => {
      const note = queued === "here" ? " (not sent yet)" : "";
      return `queued ${at + 1}${note}: ${shorten(text, 200)}`;
    });
  const more = lines.length - maxListed;
  return more > 0 ? [...lines.slice(0, maxListed), `… and ${more} more`] : lines;
}

/** Formats what a turn used, and how full the context window is: `2 calls, 1,234 in, 56 out, $0.0042; context 6%`. */
function turnLine({ contextTokens, contextWindow, ...spending }: NonNullable<ChatReply["turn"]>): string {
  const isKnown = contextTokens !== undefined && contextWindow !== undefined;
  return `${spendingText(spending)}${isKnown ? `; context ${percentText(contextTokens / contextWindow)}` : ""}`;
}
