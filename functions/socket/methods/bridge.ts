import type { ChannelAddress } from "../../../shared/channels/channel.ts";
import { handleInbound, type InboundOutcome } from "../../../shared/channels/inbound/inbound.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { InboundResult } from "../../../shared/protocol/results.ts";
import { log } from "../../../shared/runtime/log.ts";
import { parseCommand } from "../../../shared/session/commands/parse-command.ts";
import { readBridgeMessage } from "../bridge-message.ts";
import type { Caller, MethodTable } from "../gateway.ts";

export const bridgeMethods: Pick<MethodTable, "channel.inbound" | "channel.delivered"> = {
  "channel.inbound": {
    modes: ["channel"],
    async handle(gateway, params, { caller }) {
      const address = addressOf(caller);
      if (params.channel !== address.channel || params.accountId !== address.accountId) {
        const message = `this connection is only for ${address.channel}/${address.accountId}`;
        throw new PeerError(code.forbidden, message);
      }
      const message = readBridgeMessage(params, gateway.now());
      const outcome = await handleInbound(gateway, address, message);
      const { eventId, sender } = message;
      // Message content is not logged.
      log("bridge.message", { ...address, eventId, senderId: sender.id, ...outcome, answer: undefined });
      return replyOf(outcome, message.text);
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

/** The result of `channel.inbound`. A command's response is also sent, by `channel.outbound`. */
function replyOf(outcome: InboundOutcome, text: string): InboundResult {
  switch (outcome.status) {
    case "deferred":
    case "command":
      return {
        status: "command",
        sessionKey: outcome.sessionKey,
        command: parseCommand(text)?.name ?? "",
        ...responseOf(outcome.answer),
      };
    case "directive-only":
      return { status: "directive-only", sessionKey: outcome.sessionKey, ...responseOf(outcome.answer) };
    case "started":
      return { status: "started", sessionKey: outcome.sessionKey };
    case "duplicate":
      return { status: "started", duplicate: true };
    case "pending_pairing":
      return { status: "pending_pairing", senderId: outcome.senderId };
    case "blocked":
      return outcome;
  }
}

function responseOf(answer: string | undefined): { response?: string } {
  return answer === undefined ? {} : { response: answer };
}
