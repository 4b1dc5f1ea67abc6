import { createAccountFinder } from "../../functions/webhook/account-finder.ts";
import {
  answerWebhook,
  failure,
  type Webhook,
  type WebhookAnswer,
} from "../../functions/webhook/webhook-handler.ts";
import { startFunctionUrl } from "../../local/http/function-url.ts";
import { createActivity } from "../../shared/channels/activity.ts";
import type { ChannelOrigin } from "../../shared/channels/channel.ts";
import { channels as allChannels } from "../../shared/channels/channels.ts";
import { createDiscord } from "../../shared/channels/discord/discord.ts";
import { createChannelSender } from "../../shared/channels/outbound/sender.ts";
import { createSlack } from "../../shared/channels/slack/slack.ts";
import { createWhatsapp } from "../../shared/channels/whatsapp/whatsapp.ts";
import { cacheSecrets } from "../../shared/configuration/secret-cache.ts";
import { type ConfigurationStore, openConfiguration } from "../../shared/configuration/store.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { readSession } from "../../shared/session/sessions.ts";
import type { SessionState } from "../../shared/session/state.ts";
import type { Table } from "../../shared/world/world.ts";
import { startState } from "../support/state.ts";

/** The webhook function behind a function URL, with the real channels, for the platforms that a test configures. */
export interface Bench {
  url: string;
  table: Table;
  configuration: ConfigurationStore;
  /** Session keys for which the agent was woken. */
  woken: string[];
  /** The function's dependencies, which tests can replace. */
  webhook: Webhook;
  /** Writes since they were last set to 0. */
  writes: number;
  /** Milliseconds by which the clock is ahead. */
  ahead: number;
  /** Sets a path of the configuration. Takes effect at once. */
  configure(path: string, value: unknown): Promise<void>;
  session(sessionKey: string): Promise<SessionState | undefined>;
  inbox(sessionKey: string): Promise<InboxEntry[]>;
  /** The origin of an inbox's first entry. */
  origin(sessionKey: string): Promise<ChannelOrigin>;
  /** Delivers like the agent. @param wait called for every wait between attempts, which takes no time */
  deliver(origin: ChannelOrigin, id: string, text: string, wait?: (ms: number) => void): Promise<object>;
  close(): Promise<void>;
}

export async function startBench(): Promise<Bench> {
  const state = await startState();
  const secrets = state.openSecrets("/gsv/test");
  const now = () => Date.now() + bench.ahead;
  const channels = {
    ...allChannels,
    slack: createSlack({ now }),
    whatsapp: createWhatsapp({ now }),
    discord: createDiscord({ now }),
  };
  const table = countedWrites(state.table, () => void bench.writes++);
  const build = (): Webhook => {
    const configuration = openConfiguration(state.table, secrets, { now });
    const cached = cacheSecrets(secrets, configuration, now);
    const finder = createAccountFinder({ configuration, secrets: cached, now });
    const sender = createChannelSender({ table, secrets, configuration, now, channels });
    const wake = async (sessionKey: string) => void bench.woken.push(sessionKey);
    const activity = createActivity(state.table, now);
    return { table, finder, configuration, channels, activity, sender, wake, now };
  };
  const invoke = (event: object): Promise<WebhookAnswer> =>
    answerWebhook(bench.webhook, event as Parameters<typeof answerWebhook>[1]).catch(failure);
  const endpoint = await startFunctionUrl({ invoke });
  const session = (sessionKey: string) => readSession(state.table, sessionKey);
  const bench: Bench = {
    url: endpoint.url,
    table: state.table,
    configuration: openConfiguration(state.table, secrets),
    woken: [],
    webhook: build(),
    writes: 0,
    ahead: 0,
    async configure(path, value) {
      await bench.configuration.set(path, value);
      bench.webhook = build();
    },
    session,
    inbox: async (sessionKey) => (await session(sessionKey))?.inbox ?? [],
    async origin(sessionKey) {
      const origin = (await session(sessionKey))?.inbox[0]?.origin;
      if (origin?.kind !== "channel") throw new Error("nothing came in from a channel");
      return origin;
    },
    deliver(origin, id, text, told = () => {}) {
      const wait = async (ms: number) => told(ms);
      const { configuration } = bench.webhook;
      const sender = createChannelSender({ table, secrets, configuration, now, channels, wait });
      return sender.deliver(origin, id, text);
    },
    async close() {
      await endpoint.close();
      await state.close();
    },
  };
  return bench;
}

function countedWrites(table: Table, count: () => void): Table {
  const counted = <A extends unknown[], T>(call: (...args: A) => Promise<T>) => {
    return (...args: A) => {
      count();
      return call(...args);
    };
  };
  return {
    ...table,
    put: counted(table.put),
    update: counted(table.update),
    delete: counted(table.delete),
  };
}
