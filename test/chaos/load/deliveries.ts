import { isRecord, parseRecord } from "../../../local/http/json.ts";
import { tagOf } from "../faults/plan.ts";
import type { Sent } from "./channel.ts";
import type { ClientRecord } from "./client.ts";

/** The platform's messages, and how often a delivery may have been repeated. */
export interface Deliveries {
  sent: readonly Sent[];
  /** By the id of the delivery: how often it was sent again because the first result was unknown. */
  uncertain: ReadonlyMap<string, number>;
}

/** Counts in the functions' log how often they repeat a delivery whose result is unknown. */
export function countDoubts(): { uncertain: Map<string, number>; read(line: string): void } {
  const uncertain = new Map<string, number>();
  return {
    uncertain,
    read(line) {
      if (!/"event":"channel\.(resend|retry)"/.test(line)) return;
      const fields = parseRecord(line);
      if (!isRecord(fields)) return;
      // A refused part was certainly not delivered.
      const isKnown =
        fields.event === "channel.retry" && !/^no (answer|connection)/.test(String(fields.reason));
      const id = String(fields.deliveryId);
      if (!isKnown) uncertain.set(id, (uncertain.get(id) ?? 0) + 1);
    },
  };
}

/**
 * Checks that chats received the ends of their messages: the answer in the transcript, or an error. Duplicates are
 * allowed only as often as the log counts a repeated part.
 * @param answered whether the transcript holds an answer to this message
 * @returns sentences about missing and duplicate messages, and the number of duplicates
 */
export function judgeDeliveries(
  { sent, uncertain }: Deliveries,
  records: ReadonlyMap<string, ClientRecord>,
  answered: (tag: string) => boolean,
): { lost: string[]; duplicated: string[]; repeated: number } {
  const lost: string[] = [];
  const duplicated: string[] = [];
  let repeated = 0;
  const failures = new Map<string, { expected: number; allowed: number }>();
  for (const [tag, { chat, runId, acknowledged }] of records) {
    if (chat === undefined || !acknowledged) continue;
    if (!answered(tag)) {
      const known = failures.get(chat) ?? { expected: 0, allowed: 0 };
      const allowed = known.allowed + 1 + (uncertain.get(`${runId}:error`) ?? 0);
      failures.set(chat, { expected: known.expected + 1, allowed });
      continue;
    }
    const copies = sent.filter(({ text }) => tagOf(text) === tag);
    if (copies.length === 0) lost.push(`the answer to #${tag} did not reach its chat`);
    if (copies.some((one) => one.chat !== chat)) lost.push(`the answer to #${tag} went to another chat`);
    const again = Math.max(0, copies.length - 1);
    repeated += again;
    if (again > (uncertain.get(runId) ?? 0))
      duplicated.push(`the answer to #${tag} was sent ${copies.length} times without a reason`);
  }
  for (const [chat, { expected, allowed }] of failures) {
    const told = sent.filter((one) => one.chat === chat && tagOf(one.text) === undefined).length;
    repeated += Math.max(0, told - expected);
    if (told < expected) lost.push(`the chat ${chat} got ${told} errors instead of ${expected}`);
    if (told > allowed) duplicated.push(`the chat ${chat} got ${told} errors instead of ${expected}`);
  }
  return { lost, duplicated, repeated };
}
