import { randomUUID } from "node:crypto";
import type { ChatError, ChatEvent, ChatReply, Events } from "../../shared/protocol/events.ts";
import { textOf } from "../../shared/protocol/messages.ts";
import type { ChatSendResult } from "../../shared/protocol/results.ts";
import { parseCommand } from "../../shared/session/commands/parse-command.ts";
import { failureOf } from "../app/failure.ts";
import { RequestError } from "../gateway/connection.ts";
import type { Gateway } from "../gateway/gateway-client.ts";
import { attachmentsOf, type ImageFile } from "./images.ts";
import { isBusy, lookUpAnswer } from "./missed-answer.ts";
import { type RunStep, RunView } from "./run-view.ts";

/** How a message ended. `text` is the answer, or a command's response; `error` is there when `failed`. */
export interface TurnOutcome {
  runId: string;
  status: "answered" | "command" | "failed" | "stopped";
  text: string;
  error?: string;
}

/** Times of a conversation, ms. */
export interface ConversationTiming {
  /** After this long without an event, the gateway is asked whether the run goes on: events are not repeated. */
  quietMs: number;
  /** Wait before a request that the gateway could not answer is tried again. */
  retryMs: number;
}

const defaultTiming: ConversationTiming = { quietMs: 15_000, retryMs: 1_000 };
const mostTries = 10;
const lostAnswer = "the run ended, but its answer did not arrive; `gsv session preview` shows what there is";
/** A command that changes the session waits for the runs before it. */
const commandTimeoutMs = 300_000;
/** What the gateway says of a run that was stopped. */
const cancelled = "Run cancelled by user";

interface Turn {
  runId: string;
  message: string;
  images: readonly ImageFile[];
  view: RunView;
  lastEventAt: number;
  /** When the gateway was last asked whether the run goes on. */
  checkedAt: number;
  /** The connection it was asked over. */
  reconnects: number;
  onStep(step: RunStep): void;
  settle(outcome: Omit<TurnOutcome, "runId">): void;
}

/**
 * Messages to one session and what comes of them, over a connection that may be lost and found again: a message is
 * sent again under its own run id, which the gateway takes once, and an answer that was missed is looked up.
 */
export class Conversation {
  readonly #gateway: Gateway;
  readonly #sessionKey: string;
  readonly #timing: ConversationTiming;
  readonly #turns = new Map<string, Turn>();
  readonly #ownRuns = new Set<string>();
  readonly #unsubscribe: (() => void)[];
  /** Connections since the start: each may have missed events. */
  #reconnects = 0;
  #sending: Promise<unknown> = Promise.resolve();
  #ended: Omit<TurnOutcome, "runId"> | undefined;

  constructor(gateway: Gateway, sessionKey: string, timing: Partial<ConversationTiming> = {}) {
    this.#gateway = gateway;
    this.#sessionKey = sessionKey;
    this.#timing = { ...defaultTiming, ...timing };
    this.#unsubscribe = [
      gateway.onEvent("chat", (event) => this.#chat(event)),
      gateway.onEvent("tool.result", (event) => this.#toolResult(event)),
      gateway.onState((state) => {
        if (state.status === "connected") this.#reconnects += 1;
        if (state.status === "closed") this.#end(state.error);
      }),
    ];
  }

  /**
   * Calls `handler` with the end of each run in this session that another message started: one of another device or
   * channel, or of before a restart. Needs the canonical session key, which events carry.
   */
  onOtherRun(handler: (event: ChatReply | ChatError) => void): void {
    const undo = this.#gateway.onEvent("chat", (event) => {
      if (event.state !== "final" && event.state !== "error") return;
      if (event.sessionKey === this.#sessionKey && !this.#ownRuns.has(event.runId)) handler(event);
    });
    this.#unsubscribe.push(undo);
  }

  /** Messages whose end has not come yet. */
  get active(): number {
    return this.#turns.size;
  }

  /** Sends a message after those before it and waits for its end. Failures are outcomes; nothing is thrown. */
  send(
    message: string,
    onStep: (step: RunStep) => void,
    images: readonly ImageFile[] = [],
  ): Promise<TurnOutcome> {
    const runId = randomUUID();
    if (this.#ended !== undefined) return Promise.resolve({ runId, ...this.#ended });
    return new Promise((resolve) => {
      const turn: Turn = {
        runId,
        message,
        images,
        view: new RunView(),
        lastEventAt: Date.now(),
        checkedAt: 0,
        reconnects: this.#reconnects,
        onStep,
        settle: (outcome) => {
          if (this.#turns.delete(runId)) resolve({ runId, ...outcome });
        },
      };
      this.#turns.set(runId, turn);
      this.#ownRuns.add(runId);
      this.#sending = this.#sending.then(() => this.#start(turn));
    });
  }

  /** Stops the run that is going on. Returns what the gateway says of it. Throws a RequestError. */
  async stop(): Promise<string> {
    const answer = await this.#gateway.request("chat.send", {
      sessionKey: this.#sessionKey,
      message: "/stop",
    });
    return answer.status === "command" ? (answer.error ?? this.#stopped(answer.response ?? "")) : "";
  }

  /** Stops listening. Turns that are not over are left to the gateway. */
  close(): void {
    for (const undo of this.#unsubscribe) undo();
    this.#end(undefined);
  }

  async #start(turn: Turn): Promise<void> {
    try {
      const answer = await this.#deliver(turn);
      if (answer.status === "started") void this.#watch(turn);
      else if (answer.status === "command" && answer.error !== undefined) turn.settle(failed(answer.error));
      else {
        const said = answer.response ?? "";
        turn.settle({ status: "command", text: isStop(turn.message) ? this.#stopped(said) : said });
      }
    } catch (error) {
      turn.settle(failed(failureOf(error).message));
    }
  }

  /** Ends the turn of the run that a "/stop" ended: no more is heard of it. */
  #stopped(said: string): string {
    const turns = [...this.#turns.values()].filter((turn) => !isStop(turn.message));
    const stopped = turns.find(({ runId }) => said.includes(runId)) ?? turns[0];
    if (/^stopped\b/i.test(said)) stopped?.settle({ status: "stopped", text: "" });
    return said;
  }

  async #deliver(turn: Turn): Promise<ChatSendResult> {
    const { runId, message, images } = turn;
    const isCommand = parseCommand(message) !== undefined;
    const send = async () => {
      // What was uploaded belongs to the connection, and is used up by a try.
      const media = await attachmentsOf(this.#gateway, images);
      const params = { sessionKey: this.#sessionKey, message, media, runId };
      return this.#gateway.request("chat.send", params, isCommand ? commandTimeoutMs : undefined);
    };
    // A command has no run that would make a repeat the same one.
    return isCommand ? send() : this.#persist(turn, send);
  }

  /** Tries `work` again while its failure may pass and the turn is not over. Throws what failed last. */
  async #persist<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; ) {
      const reconnects = this.#reconnects;
      try {
        return await work();
      } catch (error) {
        const isLost = reconnects !== this.#reconnects;
        const again = error instanceof RequestError && (error.retryable || isLost);
        if (!again || tries >= mostTries || !this.#turns.has(turn.runId)) throw error;
        // Being offline is not counted: the connection says itself when it gives up.
        if (this.#gateway.state.status === "connected") tries++;
        await delay(this.#timing.retryMs);
      }
    }
  }

  #chat(event: ChatEvent): void {
    const turn = this.#turns.get(event.runId);
    if (turn === undefined) return;
    turn.lastEventAt = Date.now();
    if ("truncated" in event && event.truncated) {
      if (event.state === "final") void this.#recover(turn, textOf(event.message));
      return;
    }
    for (const step of turn.view.chat(event)) turn.onStep(step);
    if (event.state === "error" && event.error === cancelled) turn.settle({ status: "stopped", text: "" });
    else if (event.state === "error") turn.settle(failed(event.error));
    if (event.state === "final") turn.settle({ status: "answered", text: textOf(event.message) });
  }

  #toolResult(event: Events["tool.result"]): void {
    // Without a run it answers a `tool.request`, which belongs to no turn.
    if (event.runId === undefined) return;
    const turn = this.#turns.get(event.runId);
    if (turn === undefined) return;
    turn.lastEventAt = Date.now();
    for (const step of turn.view.toolResult(event)) turn.onStep(step);
  }

  /** Looks whether a silent run is over; ends with the turn. */
  async #watch(turn: Turn): Promise<void> {
    const { quietMs, retryMs } = this.#timing;
    let idle = 0;
    while (this.#turns.has(turn.runId)) {
      await delay(Math.min(retryMs, quietMs));
      const isQuiet = Date.now() - Math.max(turn.lastEventAt, turn.checkedAt) >= quietMs;
      if (!isQuiet && idle === 0 && turn.reconnects === this.#reconnects) continue;
      const busy = await isBusy(this.#gateway, this.#sessionKey);
      if (busy === undefined) continue;
      turn.reconnects = this.#reconnects;
      turn.checkedAt = Date.now();
      idle = busy ? 0 : idle + 1;
      // Once may be the moment between the answer and its event.
      if (idle >= 2) return this.#recover(turn);
      const seconds = Math.round((turn.checkedAt - turn.lastEventAt) / 1000);
      if (busy && this.#turns.has(turn.runId)) turn.onStep({ kind: "silence", seconds });
    }
  }

  /** Ends a turn with the answer that is stored, else with `instead`. */
  async #recover(turn: Turn, instead?: string): Promise<void> {
    const look = () => lookUpAnswer(this.#gateway, this.#sessionKey, turn.message);
    const answer = await this.#persist(turn, look).catch(failureOf);
    if (typeof answer === "string") turn.settle(this.#shown(turn, answer));
    else if (instead !== undefined) turn.settle(this.#shown(turn, instead));
    else turn.settle(failed(answer?.message ?? lostAnswer));
  }

  /** Shows an answer that was looked up as if its event had come. */
  #shown({ view, onStep, runId }: Turn, text: string): Omit<TurnOutcome, "runId"> {
    const content = [{ type: "text" as const, text }];
    const message = { role: "assistant" as const, content, timestamp: Date.now() };
    const event: ChatEvent = { runId, sessionKey: this.#sessionKey, state: "final", message };
    for (const step of view.chat(event)) onStep(step);
    return { status: "answered", text };
  }

  /** Ends every turn, and those to come: with the reason when the gateway ended the connection. */
  #end(error: RequestError | undefined): void {
    this.#ended = error ? failed(failureOf(error).message) : { status: "stopped", text: "" };
    for (const turn of [...this.#turns.values()]) turn.settle(this.#ended);
  }
}

function failed(error: string): Omit<TurnOutcome, "runId"> {
  return { status: "failed", text: "", error };
}

const isStop = (message: string) => parseCommand(message)?.name === "stop";
const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
