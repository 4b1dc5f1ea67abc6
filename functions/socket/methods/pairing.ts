import { listRequests, type PairingRequest } from "../../../shared/channels/inbound/pairing.ts";
import type { PairEntry } from "../../../shared/protocol/channel-accounts.ts";
import { approveSender, rejectSender } from "../approval.ts";
import type { MethodTable } from "../gateway.ts";

/** Characters of a held message that `pair.list` returns. */
const shownCharacters = 200;

export const pairingMethods: Pick<MethodTable, "pair.list" | "pair.approve" | "pair.reject"> = {
  "pair.list": {
    modes: ["client"],
    scope: "admin",
    async handle({ table, now }) {
      const requests = await listRequests(table, now());
      return { pairs: Object.fromEntries(requests.map((request) => [nameOf(request), entryOf(request)])) };
    },
  },
  "pair.approve": {
    modes: ["client"],
    scope: "admin",
    handle: async (gateway, applicant) => ({ approved: true, ...(await approveSender(gateway, applicant)) }),
  },
  "pair.reject": {
    modes: ["client"],
    scope: "admin",
    handle: async (gateway, applicant) => ({ rejected: true, ...(await rejectSender(gateway, applicant)) }),
  },
};

function nameOf({ channel, accountId, senderId }: PairingRequest): string {
  return `${channel}:${accountId}:${senderId}`;
}

function entryOf({ message, eventId: _eventId, ...request }: PairingRequest): PairEntry {
  if (!message) return request;
  const shown = message.text.slice(0, shownCharacters).toWellFormed();
  return { ...request, message: shown, firstMessage: shown };
}
