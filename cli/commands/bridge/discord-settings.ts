import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { configFolder, readConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import { readSecret } from "../../app/questions.ts";
import { freeName } from "../../gateway/machine-token.ts";

/** What a bridge needs to run. */
export interface BridgeSettings {
  url: string;
  /** The gateway's token for this bridge. */
  token: string;
  /** Whether the token was created now. */
  isNew: boolean;
  accountId: string;
  botToken: string;
  /** Another server of Discord's API. */
  apiUrl: string | undefined;
  readsRooms: boolean;
}

/**
 * The settings of this machine's bridge: from the options, the environment and the config file. A client's token is
 * exchanged for one of the bridge, which needs admin rights.
 * @throws Failure when the bot's token is missing
 */
export async function bridgeSettings(
  context: Context,
  options: Invocation["options"],
): Promise<BridgeSettings> {
  const { discord = {} } = await readConfigFile((await context.settings()).file);
  const accountId = checkedAccount(text(options.account) ?? discord.account ?? "default");
  const botToken = await botTokenOf(context, text(options.botTokenFile), discord.bot_token);
  const known = (discord.account ?? "default") === accountId ? discord.token : undefined;
  const isUnattended = options.unattended !== undefined;
  const token = await bridgeToken(context, accountId, known, isUnattended);
  const readsRooms = options.rooms === true || discord.rooms === "on";
  return { ...token, accountId, botToken, apiUrl: discord.api_url, readsRooms };
}

/** The file in which a bridge remembers how far it has read. */
export function stateFileOf(env: Record<string, string | undefined>, accountId: string): string {
  return join(configFolder(env), "bridge", `discord-${accountId}.json`);
}

function checkedAccount(name: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name)) return name;
  throw usage(
    `an account's name has at most 64 of a-z, 0-9, _ and -, not "${name}"; choose another with --account`,
  );
}

async function botTokenOf(
  { terminal }: Context,
  file: string | undefined,
  stored: string | undefined,
): Promise<string> {
  const { env, cwd, stdin } = terminal;
  const known = env.GSV_DISCORD_BOT_TOKEN || stored;
  const isAsked = file === "-" || (file === undefined && !known && stdin.isTTY === true);
  const given = isAsked
    ? await readSecret(terminal, "Bot token")
    : file && (await readFile(resolve(cwd, file), "utf8"));
  const token = (given ?? known ?? "").trim();
  if (token !== "") return token;
  throw new Failure(
    "config",
    "the bot's token is missing; pass --bot-token-file or set GSV_DISCORD_BOT_TOKEN (discord.com/developers/applications, your application, Bot, Reset Token)",
  );
}

/**
 * The token that was chosen, or is known; else a new one. A gateway that does not accept the configured token from a client
 * is not asked: it may be the bridge's own. The bridge will report a token that is refused.
 */
async function bridgeToken(
  context: Context,
  accountId: string,
  known: string | undefined,
  isUnattended: boolean,
): Promise<Pick<BridgeSettings, "url" | "token" | "isNew">> {
  const { url, token } = await context.address();
  const own = (value: string) => ({ url, token: value, isNew: false });
  if (token === "-") return own(await readSecret(context.terminal, "Token"));
  if (context.flags.token !== undefined || isUnattended) return own(token);
  if (known !== undefined) return own(known);
  const gateway = await context.gateway(false).catch(() => undefined);
  if (gateway === undefined) return own(token);
  const { tokens } = await gateway.request("token.list");
  const created = await gateway.request("token.create", {
    ...{ name: freeName(`discord-${accountId}`, tokens), scopes: ["channel"] },
    ...{ channel: "discord", accountId },
  });
  return { url, token: created.token, isNew: true };
}
