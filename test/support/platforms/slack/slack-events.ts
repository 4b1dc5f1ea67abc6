import { labelOf, slackButtons } from "./slack-blocks.ts";
import type { SlackPost } from "./slack-server.ts";

/** Builders of events as the Events API posts them (reference: https://docs.slack.dev/apis/events-api). */

let lastEvent = 0;
let lastMessage = 0;

export interface SlackEnvelope {
  type: "event_callback";
  event_id: string;
  event: Record<string, unknown>;
  [field: string]: unknown;
}

const botUser = "U0LAN0Z89";

/** Wraps an event in an envelope with a new id. */
export function envelopeOf(event: Record<string, unknown>): SlackEnvelope {
  return {
    token: "Jhj5dZrVaK7ZwHHjRyZWjbDl",
    team_id: "T061EG9R6",
    api_app_id: "A0MDYCDME",
    event,
    type: "event_callback",
    event_id: `Ev${String(++lastEvent).padStart(8, "0")}`,
    event_time: 1_780_000_000,
    authorizations: [
      {
        enterprise_id: null,
        team_id: "T061EG9R6",
        user_id: botUser,
        is_bot: true,
        is_enterprise_install: false,
      },
    ],
    is_ext_shared_channel: false,
    event_context: "4-eyJldCI6Im1lc3NhZ2UifQ",
  };
}

/** A user wrote to the bot. */
export function directMessage(text: string, more: Record<string, unknown> = {}): SlackEnvelope {
  return envelopeOf({ ...message("message", text), channel: "D024BE91L", channel_type: "im", ...more });
}

/** A user mentioned the bot in a channel. */
export function appMention(text: string, more: Record<string, unknown> = {}): SlackEnvelope {
  return envelopeOf({ ...message("app_mention", text), channel: "C0LAN2Q65", ...more });
}

/** A user wrote in a channel that the bot is in. */
export function channelMessage(text: string, more: Record<string, unknown> = {}): SlackEnvelope {
  return envelopeOf({
    ...message("message", text),
    channel: "C0LAN2Q65",
    channel_type: "channel",
    ...more,
  });
}

/** The edit of a message ("message_changed"). Without `edited`: another change, such as a preview. */
export function messageChanged(
  { event: { channel, channel_type, event_ts, ...original } }: SlackEnvelope,
  text: string,
  more: Record<string, unknown> = {},
): SlackEnvelope {
  const ts = "1780000060.000000";
  const edited = { user: original.user, ts };
  return envelopeOf({
    ...{ type: "message", subtype: "message_changed", hidden: true, channel, channel_type, ts, event_ts: ts },
    message: { ...original, text, edited, ...more },
    previous_message: original,
  });
}

function message(type: string, text: string) {
  const ts = `1780000000.${String(++lastMessage).padStart(6, "0")}`;
  return {
    type,
    user: "U061F7AUR",
    client_msg_id: "54360322-36c9-4cd8-a7ab-13b5322362a6",
    text,
    team: "T061EG9R6",
    ts,
    event_ts: ts,
  };
}

/** A press of the button with this label ("block_actions"). */
export function slackPress({ channel, ts, blocks = [] }: SlackPost, label: string, user: string): object {
  const button = slackButtons({ blocks }).find((one) => labelOf(one) === label);
  if (!button) throw new Error(`the message has no button ${label}`);
  const { action_id, value, text } = button;
  return {
    type: "block_actions",
    user: { id: user, username: "someone", team_id: "T061EG9R6" },
    api_app_id: "A0MDYCDME",
    container: { type: "message", message_ts: ts, channel_id: channel, is_ephemeral: false },
    trigger_id: `13345224609.738474920.${++lastEvent}`,
    channel: { id: channel, name: "directmessage" },
    actions: [
      {
        type: "button",
        action_id,
        block_id: "b",
        value,
        text,
        action_ts: `1780000001.${String(++lastEvent)}`,
      },
    ],
  };
}
