import { Peer } from "./peer.ts";

/** Params with which a test's bridge connects. */
export const bridgeParams = (channel: string, accountId?: string, capabilities: string[] = []) => ({
  minProtocol: 1,
  client: { id: "bridge", version: "0", platform: "test", mode: "channel", channel, accountId },
  capabilities,
});

/** A message that the gateway sends through a bridge. */
export interface Outbound {
  channel: string;
  accountId: string;
  peer: { kind: string; id: string };
  message: { id: string; text: string; replyToId?: string; media?: { filename: string; url: string }[] };
}

/** Connects a bridge that records what it receives. */
export async function openBridge(
  url: string,
  token: string,
  channel: string,
  capabilities: string[] = [],
): Promise<Peer & { said(): Outbound[]; texts(): string[] }> {
  const peer = await Peer.open(url, token);
  await peer.call("connect", bridgeParams(channel, undefined, capabilities));
  const said = () =>
    peer.events.filter(({ event }) => event === "channel.outbound").map(({ payload }) => payload as Outbound);
  return Object.assign(peer, { said, texts: () => said().map(({ message }) => message.text) });
}

/** Params of `channel.inbound`: a direct message by default. */
export const inboundParams = (channel: string, id: string, text: string, more: object = {}) => ({
  channel,
  accountId: "default",
  peer: { kind: "dm", id: "ann", name: "Ann" },
  message: { id, text },
  ...more,
});
