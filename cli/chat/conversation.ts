import { randomUUID } from "node:crypto";
import type { ChatError, ChatEvent, ChatReply, Events } from "../../shared/protocol/events.ts";
import { textOf } from "../../shared/protocol/messages.ts";
import type { ChatSendResult } from "../../shared/protocol/results.ts";
import { parseCommand } from "../../shared/session/commands/parse-command.ts";
import { failureOf } from "../app/failure.ts";
import { RequestError } from "../gateway/connection.ts";
import type { Gateway } from "../gateway/gateway-client.ts";
import { type AttachedFile, attachmentsOf } from "./attached-files.ts";
import { lookUpAnswer, workOf } from "./missed-answer.ts";
import { type RunStep, RunView } from "./run-view.ts";

/**
 * The outcome of one message. `text` is the answer or the command's response; `error` is set when `failed`, and
 * `stopped` when the run was stopped. `withdrawn`: it was stopped before it began. `left`: the conversation was closed
 * before the outcome; the run continues.
 */
export interface TurnOutcome {
  runId: string;
  status: "answered" | "command" | "failed" | "stopped" | "withdrawn" | "left";
  text: string;
  error?: string;
  stopped?: true;
  /** Tokens, cost and time of the turn, if the gateway sent them. */
  turn?: ChatReply["turn"];
}

/** Timeouts of a conversation, in ms. */
interface ConversationTiming {
  /**
   * After this time without an event, check whether the run is still active: events are not replayed.
   */
  quietMs: number;
  /** Interval of the checks whether the run of a queued message has begun. */
  queuedMs: number;
  /** Delay before a failed request is retried. */
  retryMs: number;
}

const defaultTiming: ConversationTiming = { quietMs: 15_000, queuedMs: 3000, retryMs: 1_000 };
const maxTries = 10;
const lostAnswer = "the run ended, but its answer did not arrive; see `gsv session preview`";
/** Long, because a command that changes the session waits for earlier runs to end. */
const commandTimeoutMs = 300_000;
/** The gateway's error text for a stopped run. */
const cancelled = "Run cancelled by user";

interface Turn {
  runId: string;
  message: string;
  images: readonly AttachedFile[];
  view: RunView;
  /** An event of the run has arrived. */
  heard: boolean;
  /** The message waits for an earlier one: here, or in the session's inbox. */
  queued: "here" | "inbox" | undefined;
  /** The gateway has accepted the message. */
  accepted: boolean;
  /** A stop was requested before that; it found nothing to stop. */
  stopping: boolean;
  lastEventAt: number;
  /** Epoch ms of the last check whether the run is still active. */
  checkedAt: number;
  /** Value of the conversation's `#reconnects` at that check. */
  reconnects: number;
  onStep(step: RunStep): void;
  settle(outcome: Omit<TurnOutcome, "runId">): void;
}

/**
 * Sends messages to one session and reports their answers, across reconnects. A message is resent with the
 * same run id, which the gateway accepts only once. A missed answer is read from the session's stored
 * messages.
 */
export class Conversation {
  readonly #gateway: Gateway;
  readonly #sessionKey: string;
  readonly #timing: ConversationTiming;
  readonly #turns = new Map<string, Turn>();
  readonly #ownRuns = new Set<string>();
  readonly #unsubscribe: (() => void)[];
  /** Number of reconnects. Each may have lost events. */
  #reconnects = 0;
  #sending: Promise<unknown> = Promise.resolve();
  /** Number of messages that are not yet accepted. */
  #unsent = 0;
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
   * Calls `handler` with the final event of each run in this session that this object did not start: a run of
   * another device or channel, or one from before a restart. Requires the canonical session key, because
   * events carry it.
   */
  onOtherRun(handler: (event: ChatReply | ChatError) => void): void {
    const undo = this.#gateway.onEvent("chat", (event) => {
      if (event.state !== "final" && event.state !== "error") return;
      if (event.sessionKey === this.#sessionKey && !this.#ownRuns.has(event.runId)) handler(event);
    });
    this.#unsubscribe.push(undo);
  }

  /** Number of messages without an outcome yet. */
  get active(): number {
    return this.#turns.size;
  }

  /** The messages that have not begun: texts that are not sent yet, and the number in the session's inbox. */
  get queued(): { here: string[]; inbox: number } {
    const turns = [...this.#turns.values()];
    return {
      here: turns.filter(({ queued }) => queued === "here").map(({ message }) => message),
      inbox: turns.filter(({ queued }) => queued === "inbox").length,
    };
  }

  /**
   * Sends a message after all earlier ones are sent, and waits for its outcome. Never rejects: failures are
   * outcomes.
   */
  send(
    message: string,
    onStep: (step: RunStep) => void,
    images: readonly AttachedFile[] = [],
  ): Promise<TurnOutcome> {
    const runId = randomUUID();
    if (this.#ended !== undefined) return Promise.resolve({ runId, ...this.#ended });
    let resolve: (outcome: TurnOutcome) => void = () => undefined;
    const settled = new Promise<TurnOutcome>((done) => {
      resolve = done;
    });
    const turn: Turn = {
      runId,
      message,
      images,
      view: new RunView(),
      heard: false,
      queued: undefined,
      accepted: false,
      stopping: false,
      lastEventAt: Date.now(),
      checkedAt: 0,
      reconnects: this.#reconnects,
      onStep,
      settle: (outcome) => {
        if (!this.#turns.delete(runId)) return;
        resolve({ runId, ...outcome });
        this.#nextCommand();
      },
    };
    this.#turns.set(runId, turn);
    this.#ownRuns.add(runId);
    this.#send(turn, settled);
    return settled;
  }

  /**
   * Withdraws the messages that have not begun, and then stops the current run, no matter who started it. Returns the
   * gateway's response text. @throws RequestError
   */
  async stop(): Promise<string> {
    const turns = [...this.#turns.values()];
    for (const turn of turns) {
      if (turn.queued === "here") turn.settle(withdrawnOutcome);
      turn.stopping = !turn.accepted;
    }
    // A command may wait in the inbox, too: its response comes when it was executed.
    const waiting = turns.filter(({ queued, message }) => queued !== "here" && (queued || isLong(message)));
    if (waiting.length > 0) await this.#stop(`/stop ${waiting.map(({ runId }) => runId).join(" ")}`);
    return this.#stop("/stop");
  }

  /**
   * Stops the run of the oldest message without an outcome, or withdraws the message. Returns whether it was stopped.
   * @throws RequestError
   */
  async stopOwn(): Promise<boolean> {
    const [turn] = this.#turns.values();
    if (turn === undefined) return false;
    turn.stopping = !turn.accepted;
    return hasStopped(await this.#stop(`/stop ${turn.runId}`)) || turn.stopping;
  }

  async #stop(message: string): Promise<string> {
    const answer = await this.#gateway.request("chat.send", { sessionKey: this.#sessionKey, message });
    return answer.status === "command" ? (answer.error ?? this.#settleStopped(answer.response ?? "")) : "";
  }

  /** Sends a message after the earlier ones are accepted or have their outcome. A stop waits for none. */
  #send(turn: Turn, settled: Promise<unknown>): void {
    if (isStop(turn.message)) {
      void this.#start(turn);
      return;
    }
    if (this.#unsent > 0) {
      turn.queued = "here";
      turn.onStep({ kind: "queued", here: true });
    }
    this.#unsent++;
    this.#sending = this.#sending.then(async () => {
      if (turn.queued !== undefined && this.#turns.has(turn.runId)) turn.onStep({ kind: "begun" });
      turn.queued = undefined;
      if (this.#turns.has(turn.runId)) await Promise.race([this.#start(turn), settled]);
      this.#unsent--;
    });
  }

  /** Stops listening to events. Open turns resolve as left; their runs continue at the gateway. */
  close(): void {
    for (const undo of this.#unsubscribe) undo();
    this.#end(undefined);
  }

  async #start(turn: Turn): Promise<void> {
    const [oldest] = this.#turns.values();
    if (isLong(turn.message) && oldest !== turn) {
      turn.queued = "inbox";
      turn.onStep({ kind: "queued" });
    }
    try {
      const answer = await this.#deliver(turn);
      if (answer.status === "started") {
        turn.accepted = true;
        if (turn.stopping) void this.#stop(`/stop ${turn.runId}`).catch(() => undefined);
        // An event of the run may have arrived before this answer.
        if (answer.queued === true && !turn.heard) turn.queued = "inbox";
        if (turn.queued && this.#turns.has(turn.runId)) turn.onStep({ kind: "queued" });
        void this.#watch(turn);
      } else if (answer.status === "command" && answer.error !== undefined) turn.settle(failed(answer.error));
      else {
        const text = answer.response ?? "";
        turn.settle({ status: "command", text: isStop(turn.message) ? this.#settleStopped(text) : text });
      }
    } catch (error) {
      turn.settle(failed(failureOf(error).message));
    }
  }

  /**
   * Settles the turns that "/stop" ended, because no further event of their runs will arrive. Returns `response`:
   * "Stopped run ID.", "Stopped before they began: ID, ID.", or both.
   */
  #settleStopped(response: string): string {
    const [first = "", unbegun = ""] = response.split(/stopped before they began: /i);
    const turns = [...this.#turns.values()].filter((turn) => !isStop(turn.message));
    for (const turn of turns) if (unbegun.includes(turn.runId)) turn.settle(withdrawnOutcome);
    const stopped = turns.find(({ runId }) => first.includes(runId)) ?? turns.find(({ queued }) => !queued);
    if (hasStopped(first)) stopped?.settle(stoppedOutcome);
    return response;
  }

  async #deliver(turn: Turn): Promise<ChatSendResult> {
    const { runId, message, images } = turn;
    const isCommand = parseCommand(message) !== undefined;
    const send = async () => {
      // An upload belongs to one connection and can be used by one request only.
      const media = await attachmentsOf(this.#gateway, images);
      const params = { sessionKey: this.#sessionKey, message, media, runId };
      return this.#gateway.request("chat.send", params, isCommand ? commandTimeoutMs : undefined);
    };
    // A command is not retried: it has no run id by which the gateway could detect the duplicate.
    return isCommand ? send() : this.#persist(turn, send);
  }

  /** Retries `work` while its error is retryable and the turn is open. Throws the last error. */
  async #persist<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; ) {
      const reconnects = this.#reconnects;
      try {
        return await work();
      } catch (error) {
        const isLost = reconnects !== this.#reconnects;
        const again = error instanceof RequestError && (error.retryable || isLost);
        if (!again || tries >= maxTries || !this.#turns.has(turn.runId)) throw error;
        // Tries while offline are not counted: the connection itself reports when it gives up.
        if (this.#gateway.state.status === "connected") tries++;
        await delay(this.#timing.retryMs);
      }
    }
  }

  #chat(event: ChatEvent): void {
    const turn = this.#turns.get(event.runId);
    if (turn === undefined) return;
    heard(turn);
    if ("truncated" in event && event.truncated) {
      if (event.state === "final") void this.#recover(turn, textOf(event.message));
      return;
    }
    for (const step of turn.view.chat(event)) turn.onStep(step);
    if (event.state === "error" && event.error === cancelled) turn.settle(stoppedOutcome);
    else if (event.state === "error") turn.settle(failed(event.error));
    if (event.state !== "final") return;
    const took = event.turn ? { turn: event.turn } : {};
    turn.settle({ status: "answered", text: textOf(event.message), ...took });
  }

  #toolResult(event: Events["tool.result"]): void {
    // An event without a runId answers a `tool.request`, which belongs to no turn.
    if (event.runId === undefined) return;
    const turn = this.#turns.get(event.runId);
    if (turn === undefined) return;
    heard(turn);
    for (const step of turn.view.toolResult(event)) turn.onStep(step);
  }

  /** Checks periodically whether a silent run has ended. Returns when the turn is settled. */
  async #watch(turn: Turn): Promise<void> {
    const { quietMs, queuedMs, retryMs } = this.#timing;
    let idle = 0;
    while (this.#turns.has(turn.runId)) {
      await delay(Math.min(retryMs, quietMs));
      const maxQuietMs = turn.queued ? queuedMs : quietMs;
      const isQuiet = Date.now() - Math.max(turn.lastEventAt, turn.checkedAt) >= maxQuietMs;
      if (!isQuiet && idle === 0 && turn.reconnects === this.#reconnects) continue;
      const work = await workOf(this.#gateway, this.#sessionKey);
      if (work === undefined) continue;
      turn.reconnects = this.#reconnects;
      turn.checkedAt = Date.now();
      idle = work.busy ? 0 : idle + 1;
      // Check twice: the first check may fall between the end of the run and the arrival of its event.
      if (idle >= 2) return this.#recover(turn);
      if (!work.busy || !this.#turns.has(turn.runId)) continue;
      const seconds = Math.round((turn.checkedAt - turn.lastEventAt) / 1000);
      if (!turn.queued) turn.onStep({ kind: "silence", seconds });
      else if (work.runId === turn.runId) {
        heard(turn);
        turn.onStep({ kind: "begun" });
      }
    }
  }

  /** Shows that the oldest message, if it is a command, is no longer queued: no event reports that. */
  #nextCommand(): void {
    const [next] = this.#turns.values();
    if (next?.queued !== "inbox" || !isLong(next.message)) return;
    heard(next);
    next.onStep({ kind: "begun" });
  }

  /** Settles a turn with its stored answer, or with `instead` when no answer is stored. */
  async #recover(turn: Turn, instead?: string): Promise<void> {
    const lookUp = () => lookUpAnswer(this.#gateway, this.#sessionKey, turn.message);
    const answer = await this.#persist(turn, lookUp).catch(failureOf);
    if (typeof answer === "string") turn.settle(this.#showStored(turn, answer));
    else if (instead !== undefined) turn.settle(this.#showStored(turn, instead));
    else turn.settle(failed(answer?.message ?? lostAnswer));
  }

  /** Shows an answer from the stored messages as if its event had arrived. */
  #showStored({ view, onStep, runId }: Turn, text: string): Omit<TurnOutcome, "runId"> {
    const content = [{ type: "text" as const, text }];
    const message = { role: "assistant" as const, content, timestamp: Date.now() };
    const event: ChatEvent = { runId, sessionKey: this.#sessionKey, state: "final", message };
    for (const step of view.chat(event)) onStep(step);
    return { status: "answered", text };
  }

  /**
   * Settles all open and future turns: as failed when the gateway ended the connection, otherwise as left.
   */
  #end(error: RequestError | undefined): void {
    this.#ended = error ? failed(failureOf(error).message) : { status: "left", text: "" };
    for (const turn of [...this.#turns.values()]) turn.settle(this.#ended);
  }
}

/** Records that the run of a turn is active. */
function heard(turn: Turn): void {
  turn.lastEventAt = Date.now();
  turn.heard = true;
  turn.queued = undefined;
}

function failed(error: string): Omit<TurnOutcome, "runId"> {
  return { status: "failed", text: "", error };
}

const stoppedOutcome = { status: "stopped", text: "", stopped: true } as const;
const withdrawnOutcome = { ...stoppedOutcome, status: "withdrawn" } as const;
/** Whether the response to "/stop" reports a stopped run. */
const hasStopped = (response: string) => /^stopped\b/i.test(response);
/** Whether a command waits in the inbox as messages do, and answers its request at the end. */
const isLong = (message: string) =>
  ["reset", "private", "compact"].includes(parseCommand(message)?.name ?? "");
const isStop = (message: string) => parseCommand(message)?.name === "stop";
const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
