import { columns, moment, shorten, visible } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import type { Action } from "../../app/program.ts";
import { confirm } from "../../app/questions.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { channelSettings, hasOwner, recordOwner } from "./channel-owners.ts";

export const listPairs: Action = async (context) => {
  const gateway = await context.gateway();
  const answer = await gateway.request("pair.list");
  const rows = Object.values(answer.pairs).map((pair) => [
    pair.channel,
    pair.accountId,
    visible(pair.senderId),
    visible(pair.senderName ?? "-"),
    moment(pair.requestedAt),
    shorten(visible(pair.message ?? "(too long to store)"), 60),
  ]);
  const header = ["CHANNEL", "ACCOUNT", "SENDER", "NAME", "SINCE", "MESSAGE"];
  context.print(answer, rows.length > 0 ? columns(header, rows) : "no pairing requests");
};

export const approvePair: Action = async (context, { args, options }) => {
  const gateway = await context.gateway();
  const applicant = applicantOf(args);
  const owner = options.owner === true || (await asksForFirstOwner(context, gateway, applicant));
  const result = await gateway.request("pair.approve", { ...applicant, ...(owner ? { owner } : {}) });
  const who = result.role === "owner" ? "an owner" : "a guest";
  context.print(result, `${nameOf(result)} may now write, as ${who}; the waiting message is being answered`);
  await recordOwner(context, gateway, applicant.channel);
};

/** While no channel has an owner, asks on a terminal whether the sender is the user. */
async function asksForFirstOwner(
  { terminal, json }: Context,
  gateway: Gateway,
  { channel, senderId }: { channel: string; senderId: string },
): Promise<boolean> {
  if (terminal.stdin.isTTY !== true || json) return false;
  const channels = await channelSettings(gateway);
  if (Object.keys(channels).some((name) => hasOwner(channels, name))) return false;
  const question = `Is ${visible(senderId)} on ${channel} you? An owner may use your machines and your main conversation.`;
  return confirm(terminal, question);
}

export const rejectPair: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("pair.reject", applicantOf(args));
  context.print(result, `deleted the request of ${nameOf(result)}`);
};

function applicantOf([channel = "", senderId = ""]: string[]) {
  return { channel: channel.toLowerCase(), senderId };
}

function nameOf({ senderId, senderName }: { senderId: string; senderName?: string }): string {
  return visible(senderName === undefined ? senderId : `${senderName} (${senderId})`);
}
