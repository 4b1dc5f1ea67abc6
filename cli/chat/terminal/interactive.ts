import { createInterface, emitKeypressEvents, type Interface } from "node:readline";
import type { ChatError, ChatReply, Events } from "../../../shared/protocol/events.ts";
import { textOf } from "../../../shared/protocol/messages.ts";
import { type Style, styleOf, type Terminal, writeText } from "../../app/terminal.ts";
import type { ConnectionState, RequestError } from "../../gateway/connection.ts";
import type { Conversation, TurnOutcome } from "../conversation.ts";
import { Progress } from "../progress/progress.ts";
import { cutLine, toolLine, waitingLine } from "../progress/tool-line.ts";
import type { RunStep } from "../run-view.ts";
import { addToHistory, readHistory } from "./input-history.ts";
import { createNodeNews } from "./node-news.ts";
import { Screen } from "./screen.ts";
import { drawable } from "./text-width.ts";

export interface ChatOptions {
  conversation: Conversation;
  terminal: Terminal;
  historyFile: string;
  /** Printed before the first prompt. */
  greeting: string;
  /** The chat ends when this resolves. */
  leave?: Promise<unknown>;
  onState(handler: (state: ConnectionState) => void): () => void;
  /** Calls `handler` when a node comes or goes. Returns a function that unsubscribes. */
  onNodeChange(handler: (change: Events["node.changed"]) => void): () => void;
}

const pasteOn = "\u001b[?2004h";
const pasteOff = "\u001b[?2004l";

/**
 * Runs a chat at a terminal until the user leaves: Ctrl-D, /quit, or Ctrl-C twice. Pasted lines, and lines
 * that end in a backslash, are joined to one message.
 * @throws RequestError when the gateway ends the connection permanently
 */
export async function chatInteractively(options: ChatOptions): Promise<void> {
  const { terminal, historyFile } = options;
  const lines = createInterface({
    input: terminal.stdin,
    output: terminal.stdout,
    terminal: true,
    history: await readHistory(historyFile),
    historySize: 1000,
    prompt: "> ",
  });
  writeText(terminal.stdout, `${options.greeting}\n`);
  terminal.stdout.write(pasteOn);
  const chat = new Chat(options, lines);
  const news = createNodeNews((line) => chat.note(line));
  const undo = [
    options.onState((state) => chat.connection(state)),
    options.onNodeChange((change) => news.take(change)),
    () => news.stop(),
  ];
  options.conversation.onOtherRun((event) => chat.otherRun(event));
  void options.leave?.then(() => lines.close());
  try {
    await chat.run();
  } finally {
    for (const end of undo) end();
    lines.close();
    terminal.stdout.write(`${pasteOff}\n`);
  }
}

class Chat {
  readonly #options: ChatOptions;
  readonly #lines: Interface;
  readonly #screen: Screen;
  readonly #style: Style;
  /** How it goes with the messages that have no outcome yet, the oldest first. */
  readonly #waiting = new Set<Progress>();
  #typed: string[] = [];
  #pasting = false;
  #lost = false;
  #leaving = false;
  /** Why the gateway ended the connection permanently. */
  #refusal: RequestError | undefined;

  constructor(options: ChatOptions, lines: Interface) {
    this.#options = options;
    this.#lines = lines;
    this.#style = styleOf(options.terminal, options.terminal.stdout);
    this.#screen = new Screen(lines, options.terminal.stdout, this.#style.dim);
  }

  async run(): Promise<void> {
    const { stdin } = this.#options.terminal;
    emitKeypressEvents(stdin);
    stdin.on("keypress", (_text: string | undefined, key: { name?: string; ctrl?: boolean } | undefined) => {
      if (key?.name === "paste-start" || key?.name === "paste-end")
        this.#pasting = key.name === "paste-start";
      else if (!(key?.ctrl && key.name === "c")) this.#leaving = false;
    });
    const left = new Promise<void>((resolve) => this.#lines.once("close", resolve));
    this.#lines.on("line", (line) => this.#line(line));
    this.#lines.on("SIGINT", () => this.#interrupt());
    this.#lines.prompt();
    const ticks = setInterval(() => this.#working(), 1000);
    await left;
    clearInterval(ticks);
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#options.conversation.active > 0)
      writeText(this.#options.terminal.stderr, "\nthe run goes on; its answer will be in the session\n");
  }

  connection(state: ConnectionState): void {
    if (state.status === "waiting" && !this.#lost)
      this.note(`connection lost (${state.reason}); reconnecting …`);
    if (state.status === "connected" && this.#lost) this.note("connected again");
    if (state.status === "waiting") this.#lost = true;
    if (state.status === "connected") this.#lost = false;
    if (state.status === "closed" && state.error) {
      this.#refusal = state.error;
      this.#lines.close();
    }
  }

  /** Shows the answer to a message that another client or channel sent. */
  otherRun(end: ChatReply | ChatError): void {
    this.#screen.endLine();
    this.note("the answer to another message in this session");
    this.#screen.stream(end.state === "error" ? `error: ${end.error}` : textOf(end.message));
    this.#screen.endLine();
    this.#screen.print("");
  }

  #line(line: string): void {
    const continued = line.endsWith("\\");
    this.#typed.push(continued ? line.slice(0, -1) : line);
    const more = continued || this.#pasting;
    this.#lines.setPrompt(more ? "… " : "> ");
    this.#screen.entered(line);
    if (more) return;
    const message = this.#typed.join("\n").trim();
    this.#typed = [];
    if (message === "") return;
    if (message === "/quit" || message === "/exit") {
      this.#lines.close();
      return;
    }
    if (!message.includes("\n")) void addToHistory(this.#options.historyFile, message);
    void this.#say(message);
  }

  async #say(message: string): Promise<void> {
    const progress = new Progress();
    this.#waiting.add(progress);
    const turn = this.#options.conversation.send(message, (step) => {
      progress.take(step);
      this.#step(step);
    });
    this.#working();
    const outcome = await turn;
    this.#waiting.delete(progress);
    this.#outcome(outcome);
  }

  #step(step: RunStep): void {
    switch (step.kind) {
      case "text":
        this.#working();
        this.#screen.stream(step.text);
        break;
      case "restart":
        this.#screen.endLine();
        this.note("the reply starts over");
        break;
      case "reply":
        this.#screen.endLine();
        this.#working();
        break;
      case "calling":
      case "queued":
      case "begun":
      case "silence":
        this.#working();
        break;
      case "waiting":
        this.note(drawable(waitingLine(step)));
        this.#working();
        break;
      case "cut":
        this.note(cutLine);
        break;
      case "tool": {
        const line = drawable(toolLine(step));
        this.#screen.print(step.isError ? this.#style.red(line) : this.#style.dim(line));
        this.#working();
      }
    }
  }

  #outcome({ status, text, error }: TurnOutcome): void {
    if (this.#refusal !== undefined) return;
    this.#screen.endLine();
    if (status === "command") {
      this.#screen.stream(text);
      this.#screen.endLine();
    }
    if (status === "failed") this.#screen.print(this.#style.red(drawable(`error: ${error}`)));
    if (status === "stopped") this.note("stopped");
    this.#screen.print("");
    this.#working();
  }

  /** Shows what the oldest message without an outcome waits for. */
  #working(): void {
    const [oldest] = this.#waiting;
    this.#screen.status(drawable(oldest?.rows().join("\n") ?? ""));
  }

  /** Prints a dim line above the prompt. */
  note(text: string): void {
    this.#screen.print(this.#style.dim(drawable(`(${text})`)));
  }

  #interrupt(): void {
    if (this.#leaving) {
      this.#lines.close();
      return;
    }
    this.#leaving = true;
    if (this.#options.conversation.active > 0) {
      this.note("stopping; Ctrl-C again leaves");
      this.#options.conversation.stop().catch((error: Error) => this.note(error.message));
    } else if (this.#lines.line !== "" || this.#typed.length > 0) {
      this.#typed = [];
      this.#lines.setPrompt("> ");
      this.#lines.write(null, { ctrl: true, name: "e" });
      this.#lines.write(null, { ctrl: true, name: "u" });
    } else {
      this.note("Ctrl-C again or Ctrl-D leaves");
    }
  }
}
