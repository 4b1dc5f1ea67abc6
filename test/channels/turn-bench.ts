import { vi } from "vitest";
import type { Agent } from "../../functions/agent/agent.ts";
import { createHistory } from "../../functions/agent/context/history.ts";
import { createPromptCache } from "../../functions/agent/context/prompt-cache.ts";
import { createPromptSource } from "../../functions/agent/context/prompt-source.ts";
import { createFetchAttachment } from "../../functions/agent/fetch-attachment.ts";
import { createRemoteTools } from "../../functions/agent/mcp/lazy-remote-tools.ts";
import { createArchivedResults } from "../../functions/agent/objects/archived-results.ts";
import { createReminders } from "../../functions/agent/self/reminders.ts";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { sweep } from "../../functions/timer/sweep.ts";
import { createAccountFinder } from "../../functions/webhook/account-finder.ts";
import { answerWebhook, type Webhook } from "../../functions/webhook/webhook-handler.ts";
import { startFunctionUrl } from "../../local/http/function-url.ts";
import type { Endpoint } from "../../local/http/http-endpoint.ts";
import { createMemoryStore } from "../../local/items/item-store.ts";
import type { StoredItem } from "../../local/items/keyed-items.ts";
import { tableOver } from "../../local/world/local-table.ts";
import { createActivity } from "../../shared/channels/activity.ts";
import { channels as allChannels, type ChannelName } from "../../shared/channels/channels.ts";
import { createDiscord } from "../../shared/channels/discord/discord.ts";
import { createChannelSender } from "../../shared/channels/outbound/sender.ts";
import { createSlack } from "../../shared/channels/slack/slack.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import { cacheSecrets } from "../../shared/configuration/secret-cache.ts";
import { createGuardedFetch } from "../../shared/http/guarded-fetch.ts";
import { loadMemories } from "../../shared/memory/load-memories.ts";
import { createBroadcast } from "../../shared/peers/broadcast.ts";
import { textOf } from "../../shared/protocol/messages.ts";
import { toState } from "../../shared/session/state.ts";
import { readMessages } from "../../shared/session/transcript.ts";
import { openBook } from "../../shared/spend/book.ts";
import { openWorkspace } from "../../shared/workspace/workspace-files.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";
import { type Platform, platformStarts } from "../support/platforms/platforms.ts";

/** The process has died: none of its calls is carried out any more. */
export class Killed extends Error {}

/** One process, which dies after a number of its calls to AWS and to the platform. */
export class Life {
  /** The calls that were started, all of which were carried out. */
  readonly calls: string[] = [];
  private readonly most: number;

  constructor(most = Number.POSITIVE_INFINITY) {
    this.most = most;
  }

  get isOver(): boolean {
    return this.calls.length >= this.most;
  }

  /** Carries a call out while the process lives; the caller does not get the result of the last one. */
  async call<T>(name: string, go: () => Promise<T>): Promise<T> {
    if (this.isOver) throw new Killed();
    this.calls.push(name);
    const [answer] = await Promise.allSettled([go()]);
    if (this.isOver) throw new Killed();
    if (answer.status === "rejected") throw answer.reason;
    return answer.value;
  }
}

/** A model's answer, and the call before it, of gsv__Message or another tool. */
interface Said {
  text: string;
  calls?: Record<string, unknown>;
  tool?: string;
  /** Runs before the model has answered. */
  meanwhile?: () => Promise<unknown>;
}

/** Reads of the bucket are not counted: a crash between two of them equals a crash before the first. */
const uncounted = ["bucket.get", "bucket.getIfChanged", "bucket.head", "bucket.list"];

/** An AWS client whose calls are counted, named after it, the method and the kind of what they are about. */
export function counted<T extends object>(of: T, name: string, life: Life): T {
  const kindOf = (about: unknown) =>
    String(typeof about === "string" ? about : (about as { pk?: string } | undefined)?.pk).split(/[#/]/)[0];
  const wrap = ([method, call]: [string, unknown]) =>
    typeof call === "function" && !uncounted.includes(`${name}.${method}`)
      ? [
          method,
          (...args: unknown[]) =>
            life.call(`${name}.${method} ${kindOf(args[0])}`, () => call.apply(of, args) as Promise<unknown>),
        ]
      : [method, call];
  return Object.fromEntries(Object.entries(of).map(wrap)) as T;
}

/** Services that answer and do nothing. */
const silent: Pick<Agent, "schedules" | "sockets"> = {
  schedules: { once: async () => {} },
  sockets: { post: async () => "sent", close: async () => {} },
};

/** The webhook and the agent for one platform, in this process, with a clock that the test moves. */
export class TurnBench {
  /** Sessions for which the agent was woken and has not run yet. */
  readonly woken = new Set<string>();
  /** Number of model calls. */
  asked = 0;
  /** The model's answer to every message; an error makes the call fail. */
  reply: Said | { error: string } = { text: "hello" };
  readonly platform: Platform;
  bucket = createMemoryBucket();
  private store = createMemoryStore();
  table = tableOver(this.store);
  readonly configuration: Configuration;
  private readonly loaded = {
    load: async () => this.configuration,
    version: () => 1,
  } as Agent["configuration"];
  private life = new Life();
  private endpoint: Endpoint | undefined;

  constructor(platform: Platform) {
    this.platform = platform;
    this.configuration = structuredClone(defaults);
    this.configure({ dmPolicy: "open", owners: Object.values(platform.people) });
    this.configuration.session.dmScope = "per-peer";
    // The clock can be moved forward at any time.
    this.configuration.session.defaultResetPolicy = { mode: "manual" };
  }

  /** Configures the channel and its account, in addition to the platform's fields. */
  configure(settings: object, account: object = {}): void {
    const { name, account: own } = this.platform;
    this.configuration.channels = { [name]: { ...settings, accounts: { default: { ...own, ...account } } } };
  }

  /** All items of the table. */
  items(): StoredItem[] {
    return [...this.store.all()];
  }

  /** Moves the clock forward; it never moves by itself. */
  pass(ms: number): void {
    vi.setSystemTime(Date.now() + ms);
  }

  /** Opens the webhook, stops the clock, and counts the platform's calls as those of the current process. */
  async open(): Promise<void> {
    this.endpoint = await startFunctionUrl({ invoke: (event) => this.invokeWebhook(event) });
    vi.useFakeTimers({ toFake: ["Date"] });
    const { platform } = this;
    const send = globalThis.fetch;
    vi.stubGlobal("fetch", (url: string, init?: RequestInit) => {
      if (!url.startsWith(platform.url)) return send(url, init);
      const { method = "GET", body = "" } = init ?? {};
      const name = platform.sends.test(`${method} ${url} ${body}`) ? "platform.send" : "platform.other";
      return this.life.call(name, () => send(url, init));
    });
  }

  /** Also closes the platform. */
  async close(): Promise<void> {
    vi.unstubAllGlobals();
    vi.useRealTimers();
    await this.endpoint?.close();
    await this.platform.close();
  }

  /** Starts over with empty stores. */
  renew(): void {
    this.store = createMemoryStore();
    this.table = tableOver(this.store);
    this.bucket = createMemoryBucket();
    this.platform.forget();
    this.woken.clear();
    this.asked = 0;
  }

  /** The platform delivers an event to a cold function. @returns whether the event was accepted */
  async deliver(event: object, life = new Life()): Promise<boolean> {
    this.life = life;
    const answer = await this.platform.deliver(this.endpoint?.url ?? "", event);
    return answer.status === 200;
  }

  /** The platform delivers an event to a process that dies after this number of calls. @returns its life */
  async dying(event: object, calls: number): Promise<Life> {
    const life = new Life(calls);
    await this.deliver(event, life);
    return life;
  }

  /** Sends like another function. */
  get sender() {
    return this.shared(new Life()).sender;
  }

  private async invokeWebhook(event: object): Promise<unknown> {
    const { life } = this;
    const answer = await answerWebhook(this.webhook(life), event as Parameters<typeof answerWebhook>[1]);
    if (life.isOver) throw new Killed();
    return answer;
  }

  /** The agent runs for every session for which it was woken, with this many concurrent invocations, cold. It may die. */
  async runAgents(life = new Life(), times = 1): Promise<void> {
    this.life = life;
    const keys = Array.from({ length: times }, () => [...this.woken]).flat();
    if (keys.length === 0) return;
    this.woken.clear();
    const agent = this.agent(life);
    const dead = (error: unknown) => {
      if (!life.isOver) throw error;
    };
    await Promise.all(keys.map((key) => holdSession(agent, key, () => 900_000).catch(dead)));
  }

  /** The sweep finds unfinished work after all leases and claims of dead processes have expired. */
  async sweep(): Promise<void> {
    this.pass(31_000);
    await sweep({
      ...{ table: this.table, configuration: this.loaded, now: Date.now },
      ...{ schedules: silent.schedules, sockets: silent.sockets },
      wake: async (key) => void this.woken.add(key),
      files: { read: async () => undefined },
      sweepMemories: async () => {},
    });
    await this.runAgents();
  }

  /** The messages and their roles, without envelopes. There is at most one session. */
  async said(): Promise<string[]> {
    const [found, ...others] = [...this.store.all()].filter(({ sk }) => sk === "META");
    if (others.length > 0) throw new Error("there are several sessions");
    const messages = found ? await readMessages(this, toState(found)) : [];
    return messages.map((message) => `${message.role}: ${textOf(message).replace(/^\[[^\]]*\]\n/, "")}`);
  }

  private webhook(life: Life): Webhook {
    const { table, secrets, configuration, channels, sender } = this.shared(life);
    const cached = cacheSecrets(secrets, configuration, Date.now);
    return {
      ...{ table, configuration, channels, sender, now: Date.now },
      finder: createAccountFinder({ configuration, secrets: cached, now: Date.now }),
      activity: createActivity(this.table, Date.now),
      wake: (key) => life.call("wake", async () => void this.woken.add(key)),
    };
  }

  private agent(life: Life): Agent {
    const { table, configuration, secrets, channels, sender, wait } = this.shared(life);
    const fetchGuarded = createGuardedFetch();
    const guardedFetch: Agent["guardedFetch"] = (request) => life.call("fetch", () => fetchGuarded(request));
    const prompts = createPromptSource(counted(this.bucket, "bucket", life));
    const { sockets } = silent;
    const book = openBook({ table, configuration, now: Date.now, tell: async () => {} });
    const stores = { table, bucket: prompts.bucket, workspace: openWorkspace(prompts.bucket) };
    const memory = loadMemories(stores);
    return {
      ...{ ...stores, sockets, prompts, now: Date.now, configuration, book, ...memory },
      reminders: createReminders({ table, configuration, now: Date.now, ...memory }),
      promptCache: createPromptCache(prompts.bucket),
      schedules: counted(silent.schedules, "schedules", life),
      wake: (key) => life.call("wake", async () => void this.woken.add(key)),
      broadcast: createBroadcast(table, sockets, Date.now),
      history: createHistory({ table, bucket: prompts.bucket }),
      archivedResults: createArchivedResults(prompts.bucket),
      callModel: ({ messages }) => life.call("model", () => this.askModel(messages.at(-1)?.role)),
      channels: sender,
      guardedFetch,
      fetchAttachment: createFetchAttachment({ configuration, secrets, channels, guardedFetch, wait }),
      searchWeb: async () => ({ results: [] }),
      remoteTools: createRemoteTools({
        ...{ table, configuration, now: Date.now, pause: async () => true },
        secrets: { ...secrets, put: async () => {}, delete: async () => {} },
      }),
      transcribe: () => life.call("transcribe", async () => ({ status: "transcribed", text: "Buy milk." })),
      speak: (text) =>
        life.call("speak", async () => ({ status: "spoken", audio: Buffer.from(`OggS ${text}`) })),
    };
  }

  private async askModel(last: string | undefined): ReturnType<Agent["callModel"]> {
    this.asked++;
    if ("error" in this.reply) return { status: "failed", error: this.reply.error, overflow: false };
    const { text, calls, tool: name = "gsv__Message", meanwhile } = this.reply;
    await meanwhile?.();
    const call = { type: "toolCall", id: "call", name, arguments: calls ?? {} } as const;
    const content = [last === "user" && calls ? call : { type: "text" as const, text }];
    return { status: "answered", message: { role: "assistant", content, timestamp: Date.now() } };
  }

  private shared(life: Life) {
    const { account } = this.platform;
    const table = counted(this.table, "table", life);
    const secrets = { get: async (path: string) => account[path.split(".").at(-1) ?? ""] };
    const configuration = this.loaded;
    const now = () => Date.now();
    const channels = { ...allChannels, slack: createSlack({ now }), discord: createDiscord({ now }) };
    const wait = async (ms: number) => {
      if (life.isOver) throw new Killed();
      // Waiting for another process does not move the clock, because that process takes no time.
      if (ms < 1000) return new Promise((resolve) => setImmediate(resolve));
      this.pass(ms);
    };
    const sender = createChannelSender({ table, secrets, configuration, now, channels, wait });
    return { table, secrets, configuration, channels, sender, wait };
  }
}

/** Starts a platform, and opens the bench for it. */
export async function startTurnBench(name: ChannelName): Promise<{ platform: Platform; bench: TurnBench }> {
  const platform = await platformStarts[name]();
  const bench = new TurnBench(platform);
  await bench.open();
  return { platform, bench };
}
