import { ownValue } from "../channels/account.ts";
import type {
  ChannelAccount,
  ChannelSender,
  OutboundChannel,
  Press,
  PressOutcome,
  TextForm,
} from "../channels/channel.ts";
import { type Admitting, checkAccess } from "../channels/inbound/admission.ts";
import { senderRole } from "../channels/inbound/sender-role.ts";
import type { AnswerResult, Approval, ApprovalState } from "../protocol/approvals.ts";
import { log } from "../runtime/log.ts";
import type { WakeAgent } from "../world/world.ts";
import { answerRequest } from "./answer.ts";
import { answerOfButton, closedQuestion, outcomeText, questionIds, requestOfButton } from "./question.ts";
import { readRequest } from "./requests.ts";

/** The dependencies of answering by buttons. */
export interface PressTools extends Admitting {
  wake: WakeAgent;
  sender: Pick<ChannelSender, "close" | "deliver">;
}

/**
 * Answers the request under a pressed button. Only an owner of the channel can, by the newest configuration, and only what the
 * question offers there. The questions are changed after the answer was written, to what then counts, so a repeat is harmless.
 */
export async function answerPress(
  tools: PressTools,
  channel: OutboundChannel,
  account: ChannelAccount,
  press: Press,
): Promise<PressOutcome> {
  const { accountId } = account;
  const who = { channel: channel.name, accountId, senderId: press.sender.id };
  const outcome = await settle(tools, channel, press);
  log("approval.pressed", { ...who, id: requestOfButton(press.data), status: outcome.status });
  const { text, ended } = outcome;
  const isClosed = ended !== undefined && (await closeEverywhere(tools, channel, account, press, ended));
  const told = { text, isClosed };
  await channel.buttons?.respond?.(account, press, told);
  if (!channel.buttons?.close) {
    const id = `${channel.name}:${accountId}:${press.eventId}:reply`;
    const origin = { kind: "channel", channel: channel.name, accountId, peer: press.peer } as const;
    await tools.sender.deliver(origin, id, text);
  }
  return told;
}

interface Ended {
  approval: Approval;
  state: ApprovalState | "gone";
}

interface Settled {
  status: AnswerResult["status"] | "refused" | "unknown";
  text: string;
  ended?: Ended;
}

async function settle(tools: PressTools, channel: OutboundChannel, press: Press): Promise<Settled> {
  const newest = await tools.configuration.load({ fresh: true });
  const settings = ownValue(newest.channels, channel.name);
  const isOwner = senderRole(channel.name, settings, press.sender.id) === "owner";
  if (!isOwner || !checkAccess(channel.name, settings, press).allowed)
    return { status: "refused", text: "Only the owner can answer this." };
  const approval = await readRequest(tools.table, requestOfButton(press.data) ?? "");
  if (!approval) return { status: "unknown", text: "This request is no longer stored." };
  const chosen = answerOfButton(approval, channel, press.data);
  if (!chosen) return { status: "refused", text: "This cannot be answered here." };
  const by = `${channel.name} ${press.sender.id}`;
  const answered = await answerRequest(tools, approval.id, { ...chosen, by, at: tools.now() });
  const ended = { approval: answered.approval, state: stateOf(answered.result, answered.approval) };
  const { status } = answered.result;
  const text = outcomeText(ended.state, answered.approval.answer);
  return { status, text: status === "already" ? `Already answered. ${text}` : text, ended };
}

function stateOf({ status }: AnswerResult, { state, answer }: Approval): Ended["state"] {
  if (state === "void") return "void";
  if (status === "withdrawn" || status === "gone") return status;
  if (status === "expired") return "unanswered";
  return answer?.decision === "deny" ? "denied" : "allowed";
}

/** Also closes a pressed question without a receipt, which was sent before a crash. @returns whether the pressed one is closed */
async function closeEverywhere(
  { sender }: PressTools,
  channel: OutboundChannel,
  account: ChannelAccount,
  press: Press,
  { approval, state }: Ended,
): Promise<boolean> {
  const closed = await closeQuestions(sender, approval, state);
  if (closed.includes(press.messageId)) return true;
  const text = closedQuestion(approval, channel, state);
  const sent = await channel.buttons?.close?.(account, press, channel.encode?.(text) ?? text);
  return sent?.status === "sent";
}

/** Shows in a request's questions how it has ended. Best effort. @returns the ids of the messages that were changed */
export async function closeQuestions(
  sender: Pick<ChannelSender, "close">,
  approval: Approval,
  state: Ended["state"],
): Promise<(string | undefined)[]> {
  const text = (form: TextForm) => closedQuestion(approval, form, state);
  return Promise.all(Object.values(questionIds(approval.id)).map((id) => sender.close(id, text)));
}
