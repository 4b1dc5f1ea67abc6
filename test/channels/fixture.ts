import type { ChannelOrigin, Channels } from "../../shared/channels/channel.ts";
import { channels } from "../../shared/channels/channels.ts";
import { type ConfigurationStore, openConfiguration } from "../../shared/configuration/store.ts";
import type { Secrets, Table } from "../../shared/world/world.ts";
import { startTelegramServer, type TelegramServer } from "../support/platforms/telegram/telegram-server.ts";
import { type State, startState } from "../support/state.ts";

export const webhookSecret = "the-secret_that-setWebhook-was-given";

export interface ChannelState {
  state: State;
  table: Table;
  secrets: Secrets;
  configuration: ConfigurationStore;
  telegram: TelegramServer;
  close(): Promise<void>;
}

/** The table, the parameter store and a Bot API server, with one open, configured Telegram account. */
export async function startChannels(): Promise<ChannelState> {
  const [state, telegram] = await Promise.all([startState(), startTelegramServer({ local: true })]);
  const secrets = state.openSecrets("/gsv/test");
  const configuration = openConfiguration(state.table, secrets);
  const account = { botToken: telegram.token, webhookSecret, apiBaseUrl: telegram.url };
  await configuration.set("channels.telegram", {
    dmPolicy: "open",
    owners: ["5001002003"],
    accounts: { default: account },
  });
  return {
    state,
    table: state.table,
    secrets,
    configuration,
    telegram,
    async close() {
      await telegram.close();
      await state.close();
    },
  };
}

export function originOf(kind: string, id: string, replyToId?: string): ChannelOrigin {
  return { kind: "channel", channel: "telegram", accountId: "default", peer: { kind, id }, replyToId };
}

/** A hook around every visible step of a run: a write or a send. */
export type Around = <T>(step: string, go: () => Promise<T>) => Promise<T>;

/** A process that dies before or after its n-th step, and does nothing afterwards. */
export function deathAt(index: number, moment: "before" | "after"): Around {
  let count = 0;
  return async (_step, go) => {
    const isHere = count === index;
    if (count > index || (isHere && moment === "before")) throw new Error("the process died");
    count++;
    const result = await go();
    if (isHere) throw new Error("the process died");
    return result;
  };
}

/** Around a write of the table, except of a text that is kept for replies: that happens beside the others, and may be lost. */
function aroundWrite<T>(key: { pk: string }, around: Around, step: string, go: () => Promise<T>): Promise<T> {
  return key.pk.startsWith("SAID#") ? go() : around(step, go);
}

/** The table; its writes are steps that are named after the operation and the kind of item. */
export function aroundWrites(table: Table, around: Around): Table {
  const name = (key: { pk: string }) => key.pk.split("#")[0];
  return {
    ...table,
    put: (...args) => aroundWrite(args[0], around, `put ${name(args[0])}`, () => table.put(...args)),
    update: (...args) => around(`update ${name(args[0])}`, () => table.update(...args)),
  };
}

/** A table and channels whose writes and sends on Telegram are steps of a run. */
export function watched(table: Table, around: Around): { table: Table; over: Channels } {
  const telegram = channels.telegram!;
  const over: Channels = {
    telegram: {
      ...telegram,
      send: (...args) => around("send", () => telegram.send(...args)),
      sendFile: (...args) => around("send", () => telegram.sendFile!(...args)),
    },
  };
  return {
    table: {
      ...table,
      put: (...args: Parameters<Table["put"]>) =>
        aroundWrite(args[0], around, "put", () => table.put(...args)),
      update: (...args: Parameters<Table["update"]>) => around("update", () => table.update(...args)),
    },
    over,
  };
}
