import { code } from "../../../shared/protocol/errors.ts";
import { updateConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure } from "../../app/failure.ts";
import { version } from "../../app/installation.ts";
import type { Action } from "../../app/program.ts";
import { DiscordBridge } from "../../bridge/discord-bridge.ts";
import { RequestError } from "../../gateway/request-error.ts";
import { type LogLine, runUntilSignal } from "../daemon/unattended.ts";
import { type BridgeSettings, bridgeSettings, stateFileOf } from "./discord-settings.ts";

export const bridgeDiscord: Action = (context, { options }) =>
  runUntilSignal(context, options, async (log, signalled) => {
    const settings = await bridgeSettings(context, options);
    if (settings.isNew) await remember(context, settings);
    await runBridge(context, settings, log ?? ((line) => context.note(line)), signalled);
  });

/** Keeps the new token, so that the next start needs no admin rights. */
async function remember(context: Context, { accountId, token }: BridgeSettings): Promise<void> {
  const { file } = await context.settings();
  await updateConfigFile(file, { discord: { account: accountId, token } });
  context.note(`gsv: the bridge's own token is kept in ${file}`);
}

async function runBridge(
  context: Context,
  { url, token, accountId, botToken, apiUrl, readsRooms }: BridgeSettings,
  onLog: LogLine,
  signalled: Promise<unknown>,
): Promise<void> {
  const stateFile = stateFileOf(context.terminal.env, accountId);
  const place = { url, token, accountId, botToken, version, stateFile };
  const bridge = new DiscordBridge({ ...place, apiBaseUrl: apiUrl, readsRooms, onLog });
  const ready = bridge.connection.open().then(
    () =>
      context.print(
        { channel: "discord", accountId, url },
        `the messages of discord/${accountId} go to ${url}; Ctrl-C stops it`,
      ),
    () => undefined,
  );
  try {
    const error = await Promise.race([bridge.ended, signalled]);
    if (error instanceof Error) throw refused(error);
  } finally {
    await bridge.stop();
    await ready;
  }
}

function refused(error: Error): Error {
  if (!(error instanceof RequestError) || error.code !== code.unauthorized) return error;
  const remedy = "create a token with `gsv token create discord --scopes channel --channel discord`";
  return new Failure(error.code, `${error.message}; ${remedy}, and pass it with --token -`);
}
