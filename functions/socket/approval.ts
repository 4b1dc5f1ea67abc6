import { ownValue } from "../../shared/channels/account.ts";
import { handleInbound, type Inbound } from "../../shared/channels/inbound/inbound.ts";
import { closeRequest, listRequests, type PairingRequest } from "../../shared/channels/inbound/pairing.ts";
import { formatPath } from "../../shared/configuration/configuration-paths.ts";
import type { ConfigurationStore } from "../../shared/configuration/store.ts";
import type { Role } from "../../shared/protocol/channel-accounts.ts";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import { log } from "../../shared/runtime/log.ts";
import { isSameSender } from "../../shared/session/key/identity.ts";

/** A sender on a channel. `senderId` need not be normalized. */
export interface Applicant {
  channel: string;
  senderId: string;
}

/** The approved sender, with the id as the platform writes it. */
export interface Approved {
  senderId: string;
  senderName?: string;
  role: Role;
}

export type Approving = Inbound & { configuration: ConfigurationStore };

/**
 * Approves a sender: adds the id to the channel's `allowFrom` (or `owners`), then handles the sender's held messages with
 * the rights of that role. A guest who is approved as an owner becomes one; an owner stays one. Safe to repeat, also in
 * parallel: a message is handled once, by its event id, and its pairing request is deleted last.
 * @throws PeerError 404 for a sender without a request who is in neither list, 409 when the channel is closed
 */
export async function approveSender(
  approving: Approving,
  { owner = false, ...applicant }: Applicant & { owner?: boolean },
): Promise<Approved> {
  const { table, configuration, now } = approving;
  const { channel } = applicant;
  const settings = ownValue((await configuration.load({ fresh: true })).channels, channel);
  const [first] = await listRequests(table, now(), applicant);
  const isApplicant = (id: string) => isSameSender(channel, id, applicant.senderId);
  const isOwner = settings?.owners?.some(isApplicant) ?? false;
  const listed = [...(settings?.owners ?? []), ...(settings?.allowFrom ?? [])].find(isApplicant);
  if (!first && listed === undefined) throw unknown(applicant);
  if (!settings?.dmPolicy) {
    const message = `${channel} is closed; set channels.${channel}.dmPolicy first`;
    throw new PeerError(code.conflict, message);
  }
  const senderId = first?.senderId ?? listed ?? applicant.senderId;
  const role = owner || isOwner ? "owner" : "guest";
  const list = role === "owner" ? "owners" : "allowFrom";
  await configuration.change(formatPath(["channels", channel, list]), (ids) =>
    withSender(ids, channel, senderId),
  );
  log("pairing.approved", { channel, senderId, role });
  // List again: requests made before the list changed are found now, and later messages are admitted by it.
  for (const request of await listRequests(table, now(), applicant)) await acceptHeld(approving, request);
  return { senderId, ...(first?.senderName === undefined ? {} : { senderName: first.senderName }), role };
}

/**
 * Deletes a sender's pairing requests. A later message of the sender creates a new request.
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

async function acceptHeld(approving: Approving, request: PairingRequest): Promise<void> {
  const { channel, accountId, message } = request;
  if (message) {
    const { status } = await handleInbound(approving, { channel, accountId }, message);
    log("pairing.taken", { channel, accountId, eventId: request.eventId, status });
  }
  await closeRequest(approving.table, request, approving.now());
}

function withSender(list: unknown, channel: string, senderId: string): unknown {
  const ids = Array.isArray(list) ? list.map(String) : [];
  return ids.some((id) => isSameSender(channel, id, senderId)) ? list : [...ids, senderId];
}

function unknown({ channel, senderId }: Applicant): PeerError {
  return new PeerError(
    code.notFound,
    `there is no pairing request of ${senderId} on ${channel}; \`gsv pair list\` lists the requests, and ` +
      `\`gsv config set channels.${channel}.owners\` adds owners without a request`,
  );
}
