import { columns, moment, shorten, visible } from "../../app/columns.ts";
import type { Action } from "../../app/program.ts";
import { noteSharing } from "./sharing-note.ts";

export const listPairs: Action = async (context) => {
  const gateway = await context.gateway();
  const answer = await gateway.request("pair.list");
  const rows = Object.values(answer.pairs).map((pair) => [
    pair.channel,
    pair.accountId,
    visible(pair.senderId),
    visible(pair.senderName ?? "-"),
    moment(pair.requestedAt),
    shorten(visible(pair.message ?? "(too long to be kept)"), 60),
  ]);
  const header = ["CHANNEL", "ACCOUNT", "SENDER", "NAME", "SINCE", "MESSAGE"];
  context.print(answer, rows.length > 0 ? columns(header, rows) : "no pairing requests");
};

export const approvePair: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("pair.approve", applicantOf(args));
  context.print(result, `${nameOf(result)} may write now; a message that waited is being answered`);
  await noteSharing(context, gateway);
};

export const rejectPair: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("pair.reject", applicantOf(args));
  context.print(result, `the request of ${nameOf(result)} is forgotten`);
};

function applicantOf([channel = "", senderId = ""]: string[]) {
  return { channel, senderId };
}

function nameOf({ senderId, senderName }: { senderId: string; senderName?: string }): string {
  return visible(senderName === undefined ? senderId : `${senderName} (${senderId})`);
}
