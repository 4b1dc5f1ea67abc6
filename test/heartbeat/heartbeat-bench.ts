import type { Context } from "aws-lambda";
import { vi } from "vitest";
import { createAgentHandler } from "../../functions/agent/agent-handler.ts";
import { createTimerHandler } from "../../functions/timer/timer-handler.ts";
import { createWebhookHandler } from "../../functions/webhook/webhook-handler.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import type { AgentHeartbeat } from "../../shared/protocol/agent-heartbeat.ts";
import type { Method, ParamsInput } from "../../shared/protocol/methods.ts";
import type { Results } from "../../shared/protocol/results.ts";
import { localTime } from "../../shared/runtime/zoned-time.ts";
import type { TimerEvent, World } from "../../shared/world/world.ts";
import { counted, Killed, Life } from "../channels/turn-bench.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../support/models/scripted-model.ts";
import { startTelegramServer, type TelegramServer } from "../support/platforms/telegram/telegram-server.ts";
import type { TelegramUpdate } from "../support/platforms/telegram/telegram-updates.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

export const minute = 60_000;
export const owner = 5_001_002_003;
const webhookSecret = "the-secret_that-setWebhook-was-given";
const context = { awsRequestId: "1", getRemainingTimeInMillis: () => 900_000 } as unknown as Context;

/** The functions over the local world, a model and Telegram, by a clock that only the test moves. */
export class HeartbeatBench {
  /** Epoch ms. */
  time = Date.parse("2026-05-05T08:00:00Z");
  /** What the model says. */
  reply: Reply = { text: "HEARTBEAT_OK" };
  /** Put around the world of every process. */
  wrap: (world: World) => World = (world) => world;
  /** What it says to a request, in place of `reply`. */
  script: (() => Reply | Promise<Reply>) | undefined;
  readonly pending: { name: string; at: number; event: TimerEvent }[] = [];
  private readonly woken = new Set<string>();
  private life = new Life();
  declare state: State;
  declare model: ModelServer;
  declare telegram: TelegramServer;
  declare private on: SocketWorld;
  declare private socket: SocketFunction;

  async open(): Promise<void> {
    vi.spyOn(process.stdout, "write").mockImplementation(() => true);
    this.model = await startOpenAiServer(() => this.script?.() ?? this.reply);
    this.telegram = await startTelegramServer({ local: true });
    const send = globalThis.fetch;
    vi.stubGlobal("fetch", (url: string, init?: RequestInit) =>
      url.startsWith?.(this.telegram.url)
        ? this.life.call("platform.send", () => send(url, init))
        : send(url, init),
    );
  }

  async close(): Promise<void> {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
    await this.telegram.close();
    await this.model.close();
    await this.state?.close();
  }

  /** Starts over: an empty gateway whose owner uses Telegram, and a client with every scope. */
  async renew(time: string, settings: Record<string, unknown> = {}): Promise<void> {
    await this.state?.close();
    this.state = await startState();
    this.time = Date.parse(time);
    this.reply = { text: "HEARTBEAT_OK" };
    this.pending.length = 0;
    this.woken.clear();
    this.telegram.sent.length = 0;
    this.model.requests.length = 0;
    this.on = openSocketWorld(this.state);
    Object.assign(this.on.outside, {
      now: () => this.time,
      wake: async (key: string) => void this.woken.add(key),
      schedules: {
        once: async (name: string, at: number, event: TimerEvent) => {
          if (!this.pending.some((one) => one.name === name)) this.pending.push({ name, at, event });
        },
      },
    } satisfies Partial<World>);
    const { table, secrets } = this.on.outside;
    const account = { botToken: this.telegram.token, webhookSecret, apiBaseUrl: this.telegram.url };
    const channel = { dmPolicy: "open", owners: [String(owner)], accounts: { default: account } };
    const configuration = openConfiguration(table, secrets);
    const model = {
      provider: "openai-compatible",
      id: "m",
      contextWindow: 1_000_000,
      baseUrl: this.model.url,
    };
    const all = {
      model,
      "channels.telegram": channel,
      "session.defaultResetPolicy.mode": "manual",
      "budgets.prices": { "openai-compatible/m": { input: 0, output: 0 } },
      ...settings,
    };
    for (const [path, value] of Object.entries(all)) await configuration.set(path, value);
    this.socket = this.on.start();
    const { token } = await this.on.token(["client", "admin"]);
    await this.socket.open("client", token);
    const client = { id: "test", version: "1", platform: "test", mode: "client" };
    await this.socket.request("client", "connect", {
      minProtocol: 1,
      maxProtocol: 1,
      client,
      auth: { token },
    });
  }

  /** Writes a file of the agent's workspace. */
  async write(path: string, text: string, agentId = "main"): Promise<void> {
    await this.state.bucket.put(`agents/${agentId}/${path}`, text);
  }

  async call<M extends Method>(method: M, params?: ParamsInput<M>): Promise<Results[M]> {
    const answer = await this.socket.request("client", method, params as object);
    if (!answer?.ok) throw new Error(answer ? JSON.stringify(answer.error) : "no answer");
    return answer.payload as Results[M];
  }

  async status(agentId = "main"): Promise<AgentHeartbeat> {
    return (await this.call("heartbeat.status")).agents[agentId]!;
  }

  /** Telegram delivers a message, and the agent answers it. @returns the calls of the webhook function */
  async hear(update: TelegramUpdate): Promise<string[]> {
    const life = new Life();
    const event = {
      rawPath: "/telegram/default",
      requestContext: { http: { method: "POST" } },
      headers: { "x-telegram-bot-api-secret-token": webhookSecret },
      body: JSON.stringify(update),
    };
    const answer = await createWebhookHandler(this.world(life))(event as never, context);
    if (answer.statusCode !== 200) throw new Error(`the webhook answered ${answer.statusCode}`);
    await this.runAgents();
    return life.calls;
  }

  /** The schedule of the next beat. */
  get next(): { at: number; event: TimerEvent } | undefined {
    return this.pending.filter(({ event }) => event.kind === "heartbeat").sort((a, b) => a.at - b.at)[0];
  }

  /** The timer function handles an event, in a process that may die. */
  async fire(event: TimerEvent, life = new Life()): Promise<void> {
    this.life = life;
    await createTimerHandler(this.world(life))(event, context).catch(survivor(life));
  }

  /** The agent comes for every session for which it was woken, in a process that may die. */
  async runAgents(life = new Life()): Promise<void> {
    this.life = life;
    const keys = [...this.woken];
    this.woken.clear();
    for (const sessionKey of keys)
      await createAgentHandler(this.world(life))({ sessionKey }, context).catch(survivor(life));
  }

  /** The clock moves to the time of the next beat, which then fires and is worked off. */
  async beat(): Promise<void> {
    const { next } = this;
    if (!next) throw new Error("no beat is scheduled");
    this.pending.splice(this.pending.indexOf(next as never), 1);
    this.time = Math.max(this.time, next.at);
    await this.fire(next.event);
    await this.runAgents();
  }

  /** Minutes pass, each with a sweep, and whatever is due is done. */
  async pass(minutes: number): Promise<void> {
    for (let count = 0; count < minutes; count++) {
      this.time += minute;
      await this.fire({ kind: "sweep" });
      await this.runAgents();
    }
  }

  /** What people were sent on Telegram: to whom, and what. */
  get sent(): string[] {
    return this.telegram.sent.map(({ chat, text }) => `${chat.id}: ${text}`);
  }

  /** The local date and time. */
  local(timezone: string): string {
    const { date, time } = localTime(this.time, timezone);
    return `${date} ${time}`;
  }

  /** What a process knows of the outside, until it dies. */
  world(life: Life): World {
    const outside = this.wrap(this.on.outside);
    return {
      ...outside,
      table: counted(outside.table, "table", life),
      bucket: counted(outside.bucket, "bucket", life),
      schedules: counted(outside.schedules, "schedules", life),
      wake: (key) => life.call("wake", () => outside.wake(key)),
    };
  }
}

/** A process that was killed ends with an error. */
function survivor(life: Life): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof Killed) && !life.isOver) throw error;
  };
}
