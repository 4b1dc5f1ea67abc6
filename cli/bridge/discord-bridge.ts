import * as v from "valibot";
import type { ChannelAccount } from "../../shared/channels/channel.ts";
import { createDiscord } from "../../shared/channels/discord/discord.ts";
import type { ChannelOutbound, Events } from "../../shared/protocol/events.ts";
import type { Method, ParamsInput } from "../../shared/protocol/methods.ts";
import { Connection, type ConnectionTiming } from "../gateway/connection.ts";
import { RequestError } from "../gateway/request-error.ts";
import { describeState } from "../gateway/state-line.ts";
import { askDiscord } from "./ask-discord.ts";
import { BridgeState } from "./bridge-state.ts";
import { type Dispatch, intentsOf, openDiscord } from "./discord-gateway.ts";
import { markMessage } from "./discord-mark.ts";
import { DiscordReader, type ReadMessage } from "./discord-reader.ts";
import { createQueue, type EventQueue } from "./event-queue.ts";
import { repeatRequest } from "./repeated-request.ts";
import { sendOutbound } from "./send-outbound.ts";

export interface BridgeOptions {
  /** The gateway's WebSocket address, and a token with the scope `channel` for this account. */
  url: string;
  token: string;
  accountId: string;
  botToken: string;
  version: string;
  /** File that remembers how far the bridge has read. */
  stateFile: string;
  /** Another server of Discord's API. */
  apiBaseUrl?: string;
  /** Also reads room messages that do not mention the bot. Discord must allow the bot its Message Content Intent. */
  readsRooms?: boolean;
  /** Called with each log line. Lines contain ids, never texts. */
  onLog?(line: string): void;
  timing?: Partial<ConnectionTiming>;
}

/** The bot's user. */
const bot = v.object({ id: v.string() });

/**
 * Connects Discord's gateway with gsv's: messages to the bot become `channel.inbound`, answers become messages. Events of
 * Discord are handled in order. Each is repeated until gsv has answered it; only then the state moves on.
 */
export class DiscordBridge {
  readonly connection: Connection;
  /** Resolves with an error when the gateway or Discord refused the bridge, with undefined after `stop`. */
  readonly ended: Promise<Error | undefined>;
  readonly #options: BridgeOptions;
  readonly #account: ChannelAccount;
  readonly #state: BridgeState;
  readonly #stopping = new AbortController();
  readonly #events = createQueue();
  readonly #answers = createQueue();
  readonly #marks = createQueue();
  readonly #intents: number;
  #end: (error: Error | undefined) => void = () => {};

  constructor(options: BridgeOptions) {
    this.#options = options;
    const { url, token, accountId, botToken, apiBaseUrl, timing, version } = options;
    this.#account = { accountId, settings: { apiBaseUrl }, secrets: { botToken } };
    this.#state = new BridgeState(options.stateFile);
    this.#intents = intentsOf(options.readsRooms === true);
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.connection = new Connection({
      ...{ url, token, timing, capabilities: ["channel-receipts"] },
      client: {
        ...{ id: "discord-bridge", version, platform: process.platform },
        ...{ mode: "channel", channel: "discord", accountId },
      },
    });
    this.#connect();
  }

  /** Disconnects. What is not handled yet is handled after the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.connection.close();
  }

  #connect(): void {
    const { connection } = this;
    connection.onState((state) => {
      this.#log(describeState(state));
      if (state.status === "closed") this.#end(state.error);
    });
    connection.onEvent("channel.outbound", (payload) =>
      this.#enqueue(this.#answers, () => this.#send(payload)),
    );
    connection.onEvent("channel.typing", ({ peer, typing }) => {
      if (typing) void createDiscord().typing(this.#account, { peer });
    });
    connection.onEvent("channel.mark", (payload) => this.#enqueue(this.#marks, () => this.#mark(payload)));
    connection.open().catch(() => {
      // `onState` has received the reason.
    });
    this.#open().catch((error: Error) => this.#fail(error));
  }

  async #open(): Promise<void> {
    const { signal } = this.#stopping;
    const { id } = v.parse(bot, await askDiscord(this.#account, "/users/@me", signal));
    const reader = new DiscordReader(this.#account, id, signal);
    if (this.#state.isBehind) this.#enqueue(this.#events, () => this.#catchUp(reader));
    const discord = await openDiscord({
      ...{ account: this.#account, session: this.#state.sessionWith(this.#intents), signal },
      intents: this.#intents,
      log: (line) => this.#log(line),
      onDispatch: (dispatch) => this.#enqueue(this.#events, () => this.#handle(reader, dispatch)),
      onRefused: (error) => this.#end(error),
    });
    const close = () => void discord.close().catch(() => {});
    if (signal.aborted) close();
    else signal.addEventListener("abort", close);
  }

  #enqueue(queue: EventQueue, task: () => Promise<void>): void {
    queue(task).catch((error: Error) => this.#fail(error));
  }

  #fail(error: Error): void {
    if (!this.#stopping.signal.aborted) this.#end(error);
  }

  async #send(outbound: ChannelOutbound): Promise<void> {
    const { id } = outbound.message;
    const outcome = await sendOutbound(this.#account, outbound, this.#stopping.signal);
    this.#log(`sent ${id}${outcome.error === undefined ? "" : `: ${outcome.error}`}`);
    await this.#ask("channel.delivered", { id, ...outcome });
  }

  async #mark({ mark, ...message }: Events["channel.mark"]): Promise<void> {
    const { signal } = this.#stopping;
    await markMessage(this.#account, message, mark, signal).catch((error: Error) => {
      signal.throwIfAborted();
      this.#log(`no reaction to ${message.messageId}: ${error.message}`);
    });
  }

  async #handle(reader: DiscordReader, { event, session }: Dispatch): Promise<void> {
    this.#stopping.signal.throwIfAborted();
    if (event.t === "READY") {
      this.#state.handled({ session, intents: this.#intents, isBehind: true });
      // From here on, a restart misses nothing.
      this.#log("connected to Discord with a new session");
      await this.#catchUp(reader);
      return;
    }
    await this.#forward(await reader.read(event, session.sessionId));
    this.#state.handled({ session });
  }

  /** Reads what was written while there was no session, in the channels with a known message. */
  async #catchUp(reader: DiscordReader): Promise<void> {
    for (const place of this.#state.newest)
      for await (const message of reader.readAfter(place)) await this.#forward(message);
    this.#state.handled({ isBehind: false });
  }

  async #forward(message: ReadMessage | undefined): Promise<void> {
    if (!message) return;
    const { inbound, place } = message;
    const { accountId } = this.#options;
    const answer = await this.#ask("channel.inbound", { channel: "discord", accountId, ...inbound });
    if (answer && "status" in answer) this.#log(`forwarded ${inbound.message.id}: ${answer.status}`);
    if (place) this.#state.handled({ message: place });
  }

  async #ask<M extends Method>(method: M, params: ParamsInput<M>) {
    const answer = await repeatRequest(this.connection, method, params, this.#stopping.signal);
    if (!(answer instanceof RequestError)) return answer;
    this.#log(`refused ${method}: ${answer.code} ${answer.message}`);
    return undefined;
  }

  #log(line: string): void {
    this.#options.onLog?.(`${new Date().toISOString()} ${line}`);
  }
}
