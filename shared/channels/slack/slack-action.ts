import * as v from "valibot";
import { parseJson } from "../../http/platform-call.ts";
import type { Press } from "../channel.ts";

/** The fields that are read of a pressed button (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload). */
const blockActions = v.object({
  type: v.literal("block_actions"),
  user: v.object({ id: v.string() }),
  container: v.object({ message_ts: v.string(), channel_id: v.string() }),
  actions: v.tupleWithRest(
    [v.object({ type: v.literal("button"), value: v.string(), action_ts: v.string() })],
    v.unknown(),
  ),
});

/** The JSON of an interaction, which Slack sends in a form. Undefined for other bodies. */
export function interactionIn(body: Uint8Array): unknown {
  const text = new TextDecoder().decode(body);
  const payload = text.startsWith("payload=") ? new URLSearchParams(text).get("payload") : null;
  const interaction = payload === null ? undefined : parseJson(payload);
  return v.is(v.object({ type: v.string() }), interaction) ? interaction : undefined;
}

/** The pressed button of an interaction. Undefined for interactions of other kinds. */
export function readSlackPress(interaction: unknown): Press | undefined {
  const parsed = v.safeParse(blockActions, interaction);
  if (!parsed.success) return undefined;
  const { user, container, actions } = parsed.output;
  const { message_ts: messageId, channel_id: id } = container;
  const [{ value: data, action_ts }] = actions;
  const peer = { kind: id.startsWith("D") ? "dm" : "channel", id };
  return { eventId: `${messageId}:${action_ts}`, sender: { id: user.id }, peer, messageId, data };
}
