import { createAccountFinder } from "../../functions/webhook/account-finder.ts";
import {
  answerWebhook,
  failure,
  type Webhook,
  type WebhookAnswer,
} from "../../functions/webhook/webhook-handler.ts";
import { startFunctionUrl } from "../../local/http/function-url.ts";
import { createActivity } from "../../shared/channels/activity.ts";
import { channels } from "../../shared/channels/channels.ts";
import { createChannelSender } from "../../shared/channels/outbound/sender.ts";
import { cacheSecrets } from "../../shared/configuration/secret-cache.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { readSession } from "../../shared/session/sessions.ts";
import type { SessionState } from "../../shared/session/state.ts";
import { type ChannelState, startChannels, webhookSecret } from "../channels/fixture.ts";
import type { TelegramUpdate } from "../support/platforms/telegram/telegram-updates.ts";

export interface WebhookState extends ChannelState {
  url: string;
  /** Session keys for which the agent was woken. */
  woken: string[];
  /** The function's dependencies, which tests can replace. */
  webhook: Webhook;
  /** The function in a new process. */
  build(over?: Partial<Pick<Webhook, "table" | "channels" | "now">>): Webhook;
  /** Delivers like Telegram, with the secret. @returns the HTTP status */
  deliver(update: TelegramUpdate, secret?: string, account?: string): Promise<number>;
  /** Configures the Telegram channel in addition to its account. Takes effect at once. */
  configure(settings: object): Promise<void>;
  session(sessionKey: string): Promise<SessionState | undefined>;
  inbox(sessionKey: string): Promise<InboxEntry[]>;
}

/** The webhook function behind a function URL, with a Bot API server that posts to it. */
export async function startWebhook(): Promise<WebhookState> {
  const on = await startChannels();
  const woken: string[] = [];
  const { secrets } = on;
  const build: WebhookState["build"] = (over) => {
    const { table, now } = { table: on.table, now: Date.now, ...over };
    const configuration = openConfiguration(table, secrets, { now });
    const cached = cacheSecrets(secrets, configuration, now);
    const finder = createAccountFinder({ configuration, secrets: cached, now });
    const sender = createChannelSender({ table, secrets, configuration, now, channels, ...over });
    const wake = async (sessionKey: string) => void woken.push(sessionKey);
    const activity = createActivity(on.table, now);
    return { table, finder, configuration, channels, activity, sender, wake, now, ...over };
  };
  const invoke = (event: object): Promise<WebhookAnswer> =>
    answerWebhook(state.webhook, event as Parameters<typeof answerWebhook>[1]).catch(failure);
  const endpoint = await startFunctionUrl({ invoke });
  const inbox = async (sessionKey: string) => (await readSession(on.table, sessionKey))?.inbox ?? [];
  const state: WebhookState = {
    ...on,
    url: endpoint.url,
    woken,
    webhook: build(),
    build,
    async deliver(update, secret = webhookSecret, account = "default") {
      const url = `${endpoint.url}/telegram/${account}`;
      return (await on.telegram.deliver(update, { url, secret })).status;
    },
    async configure(settings) {
      const account = { botToken: "***", webhookSecret: "***", apiBaseUrl: on.telegram.url };
      await on.configuration.set("channels.telegram", {
        owners: ["5001002003"],
        ...settings,
        accounts: { default: account },
      });
      state.webhook = build();
    },
    session: (sessionKey) => readSession(on.table, sessionKey),
    inbox,
    async close() {
      await endpoint.close();
      await on.close();
    },
  };
  return state;
}
