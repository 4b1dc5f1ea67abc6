import { wrapTextWithAnsi } from "@earendil-works/pi-tui";
import type { ChatError, ChatReply, Events } from "../../../shared/protocol/events.ts";
import { parseCommand } from "../../../shared/session/commands/parse-command.ts";
import { openInBrowser } from "../../app/browser.ts";
import { shorten } from "../../app/columns.ts";
import { editorOf, editText } from "../../app/external-editor.ts";
import { failureOf } from "../../app/failure.ts";
import { onContinue, stopUntilContinued, withoutInterrupts } from "../../app/signals.ts";
import { type Style, styleOf, type Terminal, writeLines, writeText } from "../../app/terminal.ts";
import { drawable } from "../../app/text-width.ts";
import type { ConnectionState, RequestError } from "../../gateway/connection.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { createPageLink } from "../../gateway/page-link.ts";
import type { AttachedFile } from "../attached-files.ts";
import type { Conversation } from "../conversation.ts";
import type { JobAnswer } from "../job-answers.ts";
import { canRetry, nothingToRetry } from "../retry.ts";
import { chatHelp, completedCommands, type OwnCommand, ownCommand, unknownCommand } from "./chat-commands.ts";
import { Completion } from "./completion.ts";
import { readMentions } from "./file-mentions.ts";
import { InputHistory } from "./input-history.ts";
import { Keyboard } from "./keyboard.ts";
import type { LastExchange } from "./last-exchange.ts";
import { markdownLayout, plainLayout } from "./markdown.ts";
import { Prompt } from "./message-prompt.ts";
import { createNodeNews } from "./node-presence-lines.ts";
import { RequestCards } from "./request-cards.ts";
import { RunDisplay } from "./run-display.ts";
import { type PromptRows, Screen } from "./screen.ts";

export interface ChatOptions {
  conversation: Conversation;
  terminal: Terminal;
  historyFile: string;
  /** Whether a line after each turn shows its tokens, cost and time. */
  costLine: boolean;
  /** Printed before the first prompt. */
  greeting: string;
  /** Whether replies are shown unchanged, without Markdown styles. */
  isPlain: boolean;
  /** Shown before the first prompt. */
  lastExchange: LastExchange | undefined;
  /** What happens to an active run when the user leaves, as the end of a sentence. */
  whenLeft: string;
  /** The chat ends when this resolves. */
  leave?: Promise<unknown>;
  /** Calls `show` with each notice of the program that runs the chat. Returns a function that unsubscribes. */
  onNotice?(show: (line: string) => void): () => void;
  onState(handler: (state: ConnectionState) => void): () => void;
  /** Calls `handler` when a node comes or goes. Returns a function that unsubscribes. */
  onNodeChange(handler: (change: Events["node.changed"]) => void): () => void;
  /** Calls `say` with a line about what the owner should know. Returns a function that unsubscribes. */
  onNews(say: (line: string) => void): () => void;
  /** For the requests that wait for the owner, and for the page. */
  gateway: Pick<Gateway, "onEvent" | "request" | "hello">;
  /** Calls `show` with each answer of a scheduled job. Returns a function that unsubscribes. */
  onJobAnswer(show: (answer: JobAnswer) => void): () => void;
}

/** Time in which all signals of a continued process arrive, in ms. */
const continueMs = 20;

/**
 * Runs a chat at a terminal until the user leaves: Ctrl-D, /quit, or Ctrl-C twice.
 * @throws RequestError when the gateway ends the connection permanently
 */
export async function chatInteractively(options: ChatOptions): Promise<void> {
  const { terminal, conversation } = options;
  const history = await InputHistory.read(options.historyFile);
  writeText(terminal.stdout, `${options.greeting}\n`);
  const chat = new Chat(options, history);
  const news = createNodeNews((line) => chat.note(line));
  const undo = [
    options.onState((state) => chat.connection(state)),
    options.onNodeChange((change) => news.update(change)),
    options.onNews((line) => chat.note(line)),
    options.onJobAnswer(({ title, end }) => chat.otherRun(end, title)),
    () => news.stop(),
    options.onNotice?.((line) => chat.note(line)) ?? (() => {}),
  ];
  conversation.onOtherRun((event) => chat.otherRun(event));
  void options.leave?.then(() => chat.leave());
  try {
    await chat.run();
  } finally {
    for (const end of undo) end();
  }
}

class Chat {
  readonly #options: ChatOptions;
  readonly #history: InputHistory;
  readonly #style: Style;
  readonly #prompt: Prompt;
  readonly #screen: Screen;
  readonly #runs: RunDisplay;
  readonly #keyboard: Keyboard;
  readonly #cards: RequestCards;
  /** Resolves `run`. */
  #end: () => void = () => undefined;
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve;
  });
  #lost = false;
  /** The last key was Ctrl-C. */
  #interrupted = false;
  /** The gateway has not yet answered a request to stop. */
  #stopping = false;
  /** The last message, as typed, if it was stopped or failed. */
  #unanswered: string | undefined;
  /** The messages, as typed, that a stop has withdrawn, with their place among the chat's messages. */
  readonly #withdrawn: { typed: string; place: number }[] = [];
  /** Number of messages typed so far. */
  #said = 0;
  /** The external editor uses the terminal. */
  #editing = false;
  #continuing: NodeJS.Timeout | undefined;
  /** Why the gateway ended the connection permanently. */
  #refusal: RequestError | undefined;

  constructor(options: ChatOptions, history: InputHistory) {
    const { terminal, isPlain, costLine } = options;
    this.#options = options;
    this.#history = history;
    this.#style = styleOf(terminal, terminal.stdout);
    this.#screen = new Screen(terminal.stdout, (columns) => this.#layout(columns), this.#style.dim);
    const layout = isPlain ? plainLayout : markdownLayout();
    this.#runs = new RunDisplay(this.#screen, this.#style, layout, costLine);
    this.#keyboard = new Keyboard(terminal, (data) => this.#prompt.feed(data));
    this.#cards = new RequestCards(options.gateway, {
      print: (text) => this.#runs.text(text),
      note: (line) => this.note(line),
      clearInput: () => this.#prompt.setText(""),
      draw: () => this.#screen.redraw(),
    });
    const completion = new Completion(completedCommands, terminal.cwd, terminal.env.HOME);
    this.#prompt = new Prompt(
      { history, completion, style: this.#style, rows: () => this.#screen.rows },
      {
        submit: (text, shown) => this.#cards.submit(text.trim()) || this.#submit(text, shown),
        interrupt: () => this.#interrupt(),
        leave: () => this.leave(),
        escape: () => this.#stop("stopping"),
        edit: () => void this.#edit(),
        suspend: () => this.#suspend(),
        clear: () => this.#screen.clear(),
        key: () => {
          this.#interrupted = false;
        },
        draw: () => {
          this.#cards.typed(this.#prompt.text.trim());
          this.#screen.redraw();
        },
      },
    );
  }

  /** The prompt and, while a request waits, the keys that answer it. */
  #layout(columns: number): PromptRows {
    const { rows, cursor } = this.#prompt.layout(columns);
    const { row } = this.#cards;
    if (row === undefined) return { rows, cursor };
    return { rows: [...rows, ...wrapTextWithAnsi(this.#style.bold(drawable(row)), columns - 1)], cursor };
  }

  /** Runs until the user leaves. @throws RequestError */
  async run(): Promise<void> {
    const { terminal } = this.#options;
    const { stdin, stdout } = terminal;
    const resized = () => this.#screen.resized();
    const inputEnded = () => this.leave();
    stdout.on("resize", resized);
    stdin.once("end", inputEnded);
    const undoContinue = onContinue(() => {
      if (this.#editing) return;
      this.#screen.lose();
      this.#takeTerminal();
    });
    this.#keyboard.open();
    this.#showLastExchange();
    this.#screen.redraw();
    await this.#ended;
    clearTimeout(this.#continuing);
    undoContinue();
    stdin.off("end", inputEnded);
    stdout.off("resize", resized);
    this.#runs.finish();
    this.#screen.end();
    this.#prompt.close();
    this.#cards.close();
    this.#keyboard.release();
    await this.#history.written;
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#options.conversation.active > 0) writeLines(terminal.stderr, this.#goodbye());
  }

  leave(): void {
    this.#end();
  }

  connection(state: ConnectionState): void {
    if (state.status === "waiting" && !this.#lost)
      this.note(`connection lost (${state.reason}); reconnecting …`);
    if (state.status === "connected" && this.#lost) {
      this.note("connected again");
      this.#cards.refresh();
    }
    if (state.status === "waiting") this.#lost = true;
    if (state.status === "connected") this.#lost = false;
    if (state.status === "closed" && state.error) {
      this.#refusal = state.error;
      this.leave();
    }
  }

  /** Shows the answer of a run that this chat did not start. @param title what it answers */
  otherRun(end: ChatReply | ChatError, title?: string): void {
    this.#runs.otherRun(end, title);
  }

  /** Prints a dim line above the prompt. */
  note(text: string): void {
    this.#runs.note(text);
  }

  #showLastExchange(): void {
    const last = this.#options.lastExchange;
    if (last === undefined) return;
    this.note(`the last exchange, ${last.when}`);
    this.#screen.print(this.#style.dim(drawable(`> ${shorten(last.asked, 300)}`)));
    if (last.answer !== undefined) this.#runs.text(last.answer, true);
    if (last.leftOut > 0) this.note(`${last.leftOut} more lines: gsv session preview`);
    if (last.isBusy) this.note("a run is active in this session");
    this.#screen.print("");
  }

  #submit(text: string, shown: string): void {
    const message = text.trim();
    this.#screen.print(drawable(shown === "" ? ">" : `> ${shown.replaceAll("\n", "\n  ")}`));
    if (message === "") return;
    this.#history.add(message);
    // A text with a blank before its slash is a message.
    const refusal = text.startsWith("/") ? unknownCommand(message) : undefined;
    const own = ownCommand(message);
    if (own !== undefined) this.#runOwn(own);
    else if (refusal !== undefined) this.#screen.print(this.#style.red(drawable(refusal)));
    else void this.#say(message);
  }

  #runOwn(command: OwnCommand): void {
    if (command === "quit") this.leave();
    else if (command === "edit") void this.#edit();
    else if (command === "open") void this.#open();
    else if (this.#unanswered !== undefined) {
      this.#screen.print(drawable(`> ${this.#unanswered.replaceAll("\n", "\n  ")}`));
      void this.#say(this.#unanswered);
    } else this.note(nothingToRetry);
  }

  /** Opens the page in the browser, or shows a link where there is no browser. */
  async #open(): Promise<void> {
    const { gateway, terminal } = this.#options;
    try {
      const { page, url } = await createPageLink(gateway, { short: false });
      const isOpened = await openInBrowser(terminal, url);
      this.#screen.print(isOpened ? `opened ${page}` : `open ${url} (works once)`);
    } catch (error) {
      this.#screen.print(this.#style.red(drawable(failureOf(error).message)));
    }
  }

  async #say(typed: string): Promise<void> {
    const { conversation, terminal } = this.#options;
    const place = this.#said++;
    let message = typed;
    let files: readonly AttachedFile[] = [];
    try {
      ({ message, files } = await readMentions(typed, terminal.cwd, terminal.env.HOME));
    } catch (error) {
      this.#screen.print(this.#style.red(drawable(failureOf(error).message)));
      if (this.#prompt.text === "") this.#prompt.setText(typed);
      return;
    }
    if (files.length > 0) this.note(`attached: ${files.map(({ filename }) => filename).join(", ")}`);
    const outcome = await this.#runs.send(conversation, message, files);
    if (this.#refusal !== undefined) return;
    const { status } = outcome;
    if (status === "withdrawn") {
      // A command before other text would not be that command.
      if (parseCommand(message) === undefined) this.#withdrawn.push({ typed, place });
      else this.note(`not executed: ${typed}`);
      return;
    }
    const isHelp = message === "/help" || message === "/?";
    const text = isHelp ? `${outcome.text}\n${chatHelp}` : outcome.text;
    const isUnanswered = canRetry(message, outcome);
    if (isUnanswered || status === "answered") this.#unanswered = isUnanswered ? typed : undefined;
    this.#runs.outcome({ ...outcome, text }, isUnanswered);
  }

  /** Returns the messages that were queued and did not begin to the prompt, before its text. */
  #returnWithdrawn(): void {
    const withdrawn = this.#withdrawn.splice(0);
    if (withdrawn.length === 0) return;
    const { length } = withdrawn;
    this.note(`${length} queued message${length === 1 ? "" : "s"} returned to the prompt`);
    const texts = withdrawn.sort((a, b) => a.place - b.place).map(({ typed }) => typed);
    this.#prompt.setText([...texts, this.#prompt.text].filter((text) => text !== "").join("\n\n"));
  }

  #interrupt(): void {
    if (this.#interrupted) {
      this.leave();
      return;
    }
    if (this.#options.conversation.active > 0) this.#stop("stopping; Ctrl-C again leaves");
    else if (this.#prompt.text !== "") this.#prompt.setText("");
    else this.note("Ctrl-C again or Ctrl-D leaves");
    this.#interrupted = true;
  }

  #stop(note: string): void {
    const { conversation } = this.#options;
    if (conversation.active === 0 || this.#stopping) return;
    this.#stopping = true;
    this.note(note);
    conversation
      .stop()
      .catch(({ message }: Error) => this.note(message))
      .finally(() => {
        this.#stopping = false;
        this.#returnWithdrawn();
      });
  }

  #goodbye(): string {
    const { here, inbox } = this.#options.conversation.queued;
    const unsent = here.map((message) => `not sent: ${shorten(message, 200)}\n`).join("");
    const later =
      inbox > 0 ? `; ${inbox === 1 ? "one queued message follows" : `${inbox} queued messages follow`}` : "";
    return this.#stopping
      ? "left before the gateway confirmed the stop; `gsv session preview` shows how the run ended\n"
      : `left; ${this.#options.whenLeft}${later}\n${unsent}`;
  }

  async #edit(): Promise<void> {
    if (this.#editing) return;
    this.#editing = true;
    this.#screen.pause();
    this.#keyboard.release();
    const before = this.#prompt.text;
    const edited = withoutInterrupts(() => editText(editorOf(this.#options.terminal), before));
    const { text, failure } = await edited.then(
      (after) => ({ text: after, failure: undefined }),
      (error: unknown) => ({ text: before, failure: failureOf(error).message }),
    );
    this.#editing = false;
    this.#keyboard.open();
    this.#screen.resume();
    this.#prompt.setText(text);
    if (failure !== undefined) this.note(failure);
  }

  #suspend(): void {
    this.#screen.pause();
    this.#keyboard.release();
    stopUntilContinued();
    this.#takeTerminal();
  }

  /** Takes the terminal back after the process continued, once for all signals of that. */
  #takeTerminal(): void {
    this.#continuing ??= setTimeout(() => {
      this.#continuing = undefined;
      this.#keyboard.open();
      this.#screen.resume();
    }, continueMs);
  }
}
