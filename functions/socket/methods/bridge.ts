import { accountSettings } from "../../../shared/channels/account.ts";
import type { ChannelAddress } from "../../../shared/channels/channel.ts";
import { type InboundOutcome, takeInbound } from "../../../shared/channels/inbound/inbound.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { InboundResult } from "../../../shared/protocol/results.ts";
import { log } from "../../../shared/runtime/log.ts";
import { readBridgeMessage } from "../bridge-message.ts";
import type { Caller, MethodTable } from "../gateway.ts";

export const bridgeMethods: Pick<MethodTable, "channel.inbound" | "channel.delivered"> = {
  "channel.inbound": {
    modes: ["channel"],
    async handle(gateway, params, { caller }) {
      const address = addressOf(caller);
      if (params.channel !== address.channel || params.accountId !== address.accountId) {
        const message = `this connection is for ${address.channel}/${address.accountId} alone`;
        throw new PeerError(code.forbidden, message);
      }
      const message = readBridgeMessage(params, gateway.now());
      const settings = accountSettings(await gateway.configuration.load(), address);
      if (settings?.enabled === false) return { status: "blocked", reason: "stopped" };
      const outcome = await takeInbound(gateway, address, message);
      const { eventId, sender } = message;
      log("bridge.message", { ...address, eventId, senderId: sender.id, ...outcome });
      return replyOf(outcome);
    },
  },
  "channel.delivered": {
    modes: ["channel"],
    async handle({ bridges }, { id, error }, { caller }) {
      return (await bridges.delivered(addressOf(caller), id, error))
        ? { ok: true }
        : { ok: true, dropped: true };
    },
  },
};

/** The channel and account of a bridge's connection, checked against its token in `connect`. */
function addressOf({ channel = "", accountId = "" }: Caller): ChannelAddress {
  return { channel, accountId };
}

/**
 * The result of `channel.inbound`. A command's response is sent separately, by `channel.outbound`.
 */
function replyOf(outcome: InboundOutcome): InboundResult {
  switch (outcome.status) {
    case "deferred":
      return { status: "command", sessionKey: outcome.sessionKey };
    case "duplicate":
      return { status: "started", duplicate: true };
    default:
      return outcome;
  }
}
