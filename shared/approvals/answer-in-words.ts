import { ownValue } from "../channels/account.ts";
import {
  type ChannelAddress,
  type ChannelOrigin,
  choicePrefix,
  type InboundMessage,
  type Press,
} from "../channels/channel.ts";
import { refusalReason } from "../channels/inbound/admission.ts";
import { senderRole } from "../channels/inbound/sender-role.ts";
import { findQuestion } from "../channels/outbound/sender.ts";
import { type Accounts, findTarget } from "../channels/outbound/target.ts";
import { routeInbound } from "../session/key/routing.ts";
import { readSession } from "../session/sessions.ts";
import { waitingRequests } from "../session/waiting.ts";
import { answerPress, type PressTools } from "./press.ts";
import { minIdLength, questionIds } from "./question.ts";
import { listRequests } from "./requests.ts";

/** The newest requests among which an id is looked for. */
const maxRequests = 100;

const answerWords = new RegExp(
  `^(yes|no)(?:[.!]?|\\s+([a-z2-7]{${minIdLength},16})(?:[.!]?|(\\s.*)))$`,
  "is",
);

/**
 * Answers a request by an owner's direct message such as `yes c5qs`, on a bridge with `trustApprovals`. It must name a request
 * that was asked in this conversation, and say nothing else.
 * @returns undefined for any other message; else the reply to the sender, which was sent
 */
export async function answerInWords(
  tools: PressTools & Accounts,
  address: ChannelAddress,
  message: InboundMessage,
): Promise<{ sessionKey: string; command: string; response: string } | undefined> {
  const { peer, sender, eventId } = message;
  const [, word, prefix, more] = answerWords.exec(message.text.trim()) ?? [];
  if (word === undefined || peer.kind !== "dm") return undefined;
  const newest = await tools.configuration.load({ fresh: true });
  const settings = ownValue(newest.channels, address.channel);
  if (settings?.trustApprovals !== true || refusalReason(newest, address, message)) return undefined;
  if (senderRole(address.channel, settings, sender.id) !== "owner") return undefined;
  const { sessionKey } = routeInbound({ ...address, ...message }, newest, "owner");
  const command = word.toLowerCase();
  const told = async (response: string) => {
    const origin: ChannelOrigin = { kind: "channel", ...address, peer };
    await tools.sender.deliver(origin, `${address.channel}:${address.accountId}:${eventId}:reply`, response);
    return { sessionKey, command, response };
  };
  if (prefix === undefined) {
    const waiting = waitingRequests((await readSession(tools.table, sessionKey))?.run);
    if (waiting.length === 0) return undefined;
    const ids = [...new Set(waiting.map(({ approval }) => approval.id.slice(0, minIdLength)))];
    return told(`Not answered. Say which: ${ids.map((id) => `\`${command} ${id}\``).join(", ")}`);
  }
  const asked = await questionsIn(tools, address, peer.id, prefix.toLowerCase());
  const [question] = asked;
  if (!question) return undefined;
  const example = `\`${command} ${prefix.toLowerCase()}\``;
  if (asked.length > 1) return told(`Not answered. Several requests begin so: write more of the id`);
  if (more !== undefined) return told(`Not answered. Write only ${example}, or something else`);
  const target = await findTarget(tools, address);
  if (!target.ok) return undefined;
  const { id, messageId } = question;
  const data = `${choicePrefix}${id}:${command === "yes" ? "once" : "deny"}`;
  const press: Press = { eventId, sender, peer, messageId, data };
  const { text } = await answerPress(tools, target.channel, target.account, press);
  return { sessionKey, command, response: text };
}

/** The requests whose ids begin so and that were asked in this direct conversation. */
async function questionsIn(
  { table, now }: Pick<PressTools, "table" | "now">,
  { channel, accountId }: ChannelAddress,
  peerId: string,
  prefix: string,
): Promise<{ id: string; messageId: string }[]> {
  const ids = (await listRequests(table, now(), maxRequests)).map(({ id }) => id);
  const found = ids
    .filter((id) => id.startsWith(prefix))
    .map(async (id) => {
      const { first, again } = questionIds(id);
      const sent = (await Promise.all([findQuestion(table, first), findQuestion(table, again)])).find(
        (one) =>
          one?.to.channel === channel &&
          one.to.accountId === accountId &&
          one.to.peer.kind === "dm" &&
          one.to.peer.id === peerId,
      );
      return sent ? [{ id, messageId: sent.messageId }] : [];
    });
  return (await Promise.all(found)).flat();
}
