import { createActivity, recordFailures } from "../../../shared/channels/activity.ts";
import { openBridges } from "../../../shared/channels/bridge/bridge.ts";
import type { Channel, ChannelSender, Channels } from "../../../shared/channels/channel.ts";
import { createChannelSender } from "../../../shared/channels/outbound/sender.ts";
import type { ConfigurationStore } from "../../../shared/configuration/store.ts";
import { openPayloads } from "../../../shared/peers/payloads.ts";
import type { World } from "../../../shared/world/world.ts";
import type { Faults } from "./faults.ts";

/** Maximum wait for a platform's rate limit, as in the agent function. Milliseconds. */
const maxWaitMs = 60_000;

/** The messages that a platform received, in order. */
export type Sent = { id: string; text: string }[];

/** A simulated platform: it accepts messages, loses answers, and refuses for a while. */
export function createPlatform(faults: Faults, sent: Sent): Channels {
  const send: Channel["send"] = async (_account, { id = "", text }) => {
    const fault = faults.draw(["failures", "lostAnswers", "slow", "silent"], 8);
    await new Promise<void>((resolve) => void setTimeout(resolve, fault === "slow" ? 8_000 : 40));
    if (fault === "failures") return { status: "retry", reason: "busy", retryAfterMs: 2_000 };
    sent.push({ id, text });
    if (fault === undefined || fault === "slow") return { status: "sent", messageId: id };
    await new Promise<void>((resolve) => void setTimeout(resolve, fault === "silent" ? 10_000 : 0));
    return { status: "retry", reason: "no answer" };
  };
  const platform: Channel = {
    name: "sim",
    maxText: 4096,
    fields: [{ name: "apiBaseUrl", secret: false, about: "" }],
    check: async () => ({ ok: true, identity: "sim" }),
    register: async () => ({ status: "registered" }) as never,
    receive: async () => ({ status: "refused", httpStatus: 400, reason: "the simulation has no webhook" }),
    send,
    typing: async () => {},
  };
  return { sim: platform };
}

/** The sending part of a function's channels: to the platform, and to bridges. */
export function openChannels(
  world: World,
  channels: Channels,
  configuration: Pick<ConfigurationStore, "load">,
): { sender: ChannelSender; bridges: ReturnType<typeof openBridges> } {
  const { table, bucket, presigner, sockets, secrets, now } = world;
  const activity = createActivity(table, now);
  const payloads = openPayloads(bucket, presigner);
  const bridges = openBridges({
    table,
    sockets,
    activity,
    payloads,
    platforms: channels,
    configuration,
    now,
  });
  const options = { table, secrets, configuration, bridges, now, maxWaitMs, channels };
  return { sender: recordFailures(createChannelSender(options), activity), bridges };
}
