import type { DiscordMessage } from "./discord-methods.ts";

/** Builders of interactions (reference: https://docs.discord.com/developers/interactions/receiving-and-responding). */

export interface Interaction {
  id: string;
  token: string;
  channel_id: string;
  data: Record<string, unknown>;
  [field: string]: unknown;
}

let last = 0;

const ann = { id: "53908232506183680", username: "ann_example", global_name: "Ann", discriminator: "0" };

export function pingInteraction(): object {
  return { id: "1290000000000000000", application_id: "198622483471925248", type: 1, token: "t", version: 1 };
}

/** `/gsv message:<text>` in a direct message with the bot. */
export function directCommand(text: string, more: Record<string, unknown> = {}): Interaction {
  return interactionOf({
    data: commandOf(text),
    channel_id: "645027906669510667",
    channel: { id: "645027906669510667", type: 1 },
    context: 1,
    user: ann,
    ...more,
  });
}

/** `/gsv message:<text> file:<file>` in a direct message with the bot. */
export function fileCommand(text: string, file: Record<string, unknown> & { id: string }): Interaction {
  const options = [
    ...(text ? [{ type: 3, name: "message", value: text }] : []),
    { type: 11, name: "file", value: file.id },
  ];
  const resolved = { attachments: { [file.id]: file } };
  return directCommand("", { data: { id: "771825006014889984", name: "gsv", type: 1, options, resolved } });
}

/** `/gsv message:<text>` in a channel of a server. */
export function guildCommand(text: string, more: Record<string, unknown> = {}): Interaction {
  return interactionOf({
    data: commandOf(text),
    guild_id: "290926798626357999",
    channel_id: "645027906669510999",
    channel: { id: "645027906669510999", type: 0, name: "general" },
    context: 0,
    member: { user: ann, nick: "Annie", roles: [], permissions: "2147483647" },
    ...more,
  });
}

/** The command "Ask gsv" on somebody's message in a channel of a server. */
export function messageCommand(target: Record<string, unknown>): Interaction {
  const message = { id: "867793854505943041", channel_id: "645027906669510999", attachments: [], ...target };
  const resolved = { messages: { [message.id]: message } };
  const data = { id: "866818195033292851", name: "Ask gsv", type: 3, target_id: message.id, resolved };
  return guildCommand("", { data });
}

/** A press of the button with this label, in a direct message with the bot. */
export function buttonPress(message: DiscordMessage, label: string, userId: string): Interaction {
  const button = (message.components ?? [])
    .flatMap(({ components }) => components)
    .find((one) => one.label === label);
  if (!button) throw new Error(`the message has no button ${label}`);
  const { channel_id } = message;
  const data = { id: 3, component_type: 2, custom_id: button.custom_id };
  const user = { id: userId, username: "someone", discriminator: "0" };
  return interactionOf({
    type: 3,
    data,
    message,
    channel_id,
    channel: { id: channel_id, type: 1 },
    context: 1,
    user,
  });
}

function commandOf(text: string): Record<string, unknown> {
  const options = [{ type: 3, name: "message", value: text }];
  return { id: "771825006014889984", name: "gsv", type: 1, options };
}

function interactionOf(more: Record<string, unknown>): Interaction {
  const number = String(++last).padStart(8, "0");
  return {
    id: `12900000000${number}`,
    application_id: "198622483471925248",
    type: 2,
    token: `aW50ZXJhY3Rpb246${number}`,
    version: 1,
    locale: "en-US",
    app_permissions: "442368",
    entitlements: [],
    authorizing_integration_owners: { "0": "290926798626357999" },
    ...more,
  } as unknown as Interaction;
}
