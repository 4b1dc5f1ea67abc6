import type { ChannelConfiguration } from "../../../shared/configuration/schema.ts";
import type { Context } from "../../app/context.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";

type ChannelSettings = Readonly<Record<string, ChannelConfiguration>>;

/** The settings of all channels, by channel. */
export async function channelSettings(gateway: Gateway): Promise<ChannelSettings> {
  const answer = await gateway.request("config.get", { path: "channels" });
  return ("value" in answer && answer.value ? answer.value : {}) as ChannelSettings;
}

/** Whether a channel has an owner. */
export function hasOwner(channels: ChannelSettings, channel: string): boolean {
  const settings = Object.hasOwn(channels, channel) ? channels[channel] : undefined;
  return (settings?.owners ?? []).length > 0;
}

/** If a channel has no owner, prints how to become it. */
export async function recordOwner(
  context: Pick<Context, "note">,
  gateway: Gateway,
  channel: string,
): Promise<void> {
  if (hasOwner(await channelSettings(gateway), channel)) return;
  context.note(
    `gsv: ${channel} has no owner: all senders, you included, are guests with separate conversations and no access to ` +
      `your machines; \`gsv pair approve ${channel} <your id> --owner\` makes you its owner`,
  );
}
