import { ownValue } from "../../shared/channels/account.ts";
import { type Inbound, takeInbound } from "../../shared/channels/inbound/inbound.ts";
import { closeRequest, listRequests, type PairingRequest } from "../../shared/channels/inbound/pairing.ts";
import { formatPath } from "../../shared/configuration/paths.ts";
import type { ConfigurationStore } from "../../shared/configuration/store.ts";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import { log } from "../../shared/runtime/log.ts";
import { isSameSender } from "../../shared/session/key/identity.ts";

/** A person on a channel, by id in any of its forms. */
export interface Applicant {
  channel: string;
  senderId: string;
}

/** Who was let in, by the id as the platform writes it. */
export interface Approved {
  senderId: string;
  senderName?: string;
}

export type Approving = Inbound & { configuration: ConfigurationStore };

/**
 * Lets a sender in: adds them to the channel's `allowFrom`, then takes the messages of theirs that wait. Each
 * step may be repeated, by whoever comes after a crash or at the same moment: a message is taken once, by its
 * event id, and its request goes last.
 * @throws PeerError 404 for somebody who neither asks nor is let in, 409 where the channel is closed
 */
export async function approveSender(approving: Approving, applicant: Applicant): Promise<Approved> {
  const { table, configuration, now } = approving;
  const { channel } = applicant;
  const settings = ownValue((await configuration.load({ fresh: true })).channels, channel);
  const [first] = await listRequests(table, now(), applicant);
  const listed = settings?.allowFrom?.find((id) => isSameSender(id, applicant.senderId));
  if (!first && listed === undefined) throw unknown(applicant);
  if (!settings?.dmPolicy) {
    const message = `${channel} is closed; set channels.${channel}.dmPolicy first`;
    throw new PeerError(code.conflict, message);
  }
  const senderId = first?.senderId ?? listed ?? applicant.senderId;
  await configuration.change(formatPath(["channels", channel, "allowFrom"]), (list) =>
    withSender(list, senderId),
  );
  log("pairing.approved", { channel, senderId });
  // Looked for again: what came before the list was changed is found now, what comes later finds the change.
  for (const request of await listRequests(table, now(), applicant)) await take(approving, request);
  return { senderId, ...(first?.senderName === undefined ? {} : { senderName: first.senderName }) };
}

/**
 * Forgets a sender's requests; if they write again, they ask again.
 * @throws PeerError 404 when there is none
 */
export async function rejectSender(
  { table, now }: Pick<Inbound, "table" | "now">,
  applicant: Applicant,
): Promise<{ senderId: string }> {
  const requests = await listRequests(table, now(), applicant);
  const [first] = requests;
  if (!first) throw unknown(applicant);
  for (const request of requests) await closeRequest(table, request, now());
  log("pairing.rejected", { channel: applicant.channel, senderId: first.senderId });
  return { senderId: first.senderId };
}

async function take(approving: Approving, request: PairingRequest): Promise<void> {
  const { channel, accountId, message } = request;
  if (message) {
    const { status } = await takeInbound(approving, { channel, accountId }, message);
    log("pairing.taken", { channel, accountId, eventId: request.eventId, status });
  }
  await closeRequest(approving.table, request, approving.now());
}

function withSender(list: unknown, senderId: string): unknown {
  const ids = Array.isArray(list) ? list.map(String) : [];
  return ids.some((id) => isSameSender(id, senderId)) ? list : [...ids, senderId];
}

function unknown({ channel, senderId }: Applicant): PeerError {
  return new PeerError(
    code.notFound,
    `nobody asks to be let in as ${senderId} on ${channel}; \`gsv pair list\` shows who does`,
  );
}
