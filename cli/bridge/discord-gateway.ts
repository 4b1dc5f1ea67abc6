import type { SessionInfo, WebSocketManagerOptions } from "@discordjs/ws";
import type { GatewayDispatchPayload } from "discord-api-types/v10";
import type { ChannelAccount } from "../../shared/channels/channel.ts";
import { Failure } from "../app/failure.ts";
import { askDiscord } from "./ask-discord.ts";
import { loadLibrary } from "./discord-library.ts";

/** An event of Discord's gateway, with the session up to it. */
export interface Dispatch {
  event: GatewayDispatchPayload;
  session: SessionInfo;
}

export interface DiscordOptions {
  account: ChannelAccount;
  /** The session to resume. */
  session: SessionInfo | undefined;
  /** The events that Discord sends (`intentsOf`). */
  intents: number;
  /** Aborted when the bridge stops. */
  signal: AbortSignal;
  log(line: string): void;
  onDispatch(dispatch: Dispatch): void;
  /** Discord has ended the connection for good. */
  onRefused(error: Error): void;
}

/** Messages and reactions, in servers and direct messages (https://docs.discord.com/developers/events/gateway#gateway-intents). */
const intents = (1 << 9) | (1 << 10) | (1 << 12) | (1 << 13);
const messageContent = 1 << 15;

/** The intents of a bridge: the events that Discord sends. A session keeps those with which it began. */
export function intentsOf(readsRooms: boolean): number {
  return readsRooms ? intents | messageContent : intents;
}

/** Close code after which Discord keeps the session, so that the next process can resume it. */
const keepSession = 4200;

/**
 * Opens a connection to Discord's gateway, which reconnects, resumes its session and asks for a new one when it must. A
 * resumed session begins with what came after `session.sequence`.
 * @throws Failure when the library is missing, or Discord refuses the token
 */
export async function openDiscord(options: DiscordOptions): Promise<{ close(): Promise<void> }> {
  const { account, log } = options;
  const { WebSocketManager, WebSocketShardEvents } = await loadLibrary();
  let session: SessionInfo | null = options.session ?? null;
  const manager = new WebSocketManager({
    token: String(account.secrets.botToken),
    intents: options.intents,
    rest: restOf(options),
    shardCount: 1,
    retrieveSessionInfo: () => session,
    updateSessionInfo: (_shard, info) => {
      session = info;
    },
  });
  manager.on(WebSocketShardEvents.Dispatch, (event) => {
    if (session) options.onDispatch({ event, session: { ...session, sequence: event.s } });
  });
  manager.on(WebSocketShardEvents.Resumed, () => log("connected to Discord; the session goes on"));
  manager.on(WebSocketShardEvents.Closed, (code) => log(`disconnected from Discord: code ${code}`));
  manager.on(WebSocketShardEvents.SocketError, (error) => log(`disconnected from Discord: ${error.message}`));
  manager.on(WebSocketShardEvents.Error, (error) =>
    options.onRefused(new Failure("discord", `Discord refused the bot: ${error.message}`)),
  );
  await manager.connect();
  return { close: () => Promise.resolve(manager.destroy({ code: keepSession })) };
}

/** What the library needs of Discord's REST API: the gateway's address. */
function restOf({ account, signal }: DiscordOptions): WebSocketManagerOptions["rest"] {
  const get = (path: string) => askDiscord(account, path, signal);
  return { get } as Pick<WebSocketManagerOptions["rest"], "get"> as WebSocketManagerOptions["rest"];
}
