import { setTimeout as sleep } from "node:timers/promises";
import { joinOrigins } from "../../shared/origins/origins.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";

type MessageEntry = Extract<InboxEntry, { kind: "message" }>;

/**
 * An album begins when no part has come for this time, in milliseconds. A platform delivers its parts one by one, and several at
 * once; one that comes later begins a run of its own.
 */
const quietMs = 1500;

/** The entries in the inbox that belong to the same album as a message, and are of the same writer; the message itself first. */
export function albumParts(entry: MessageEntry, inbox: readonly InboxEntry[]): MessageEntry[] {
  const others = inbox.filter((one): one is MessageEntry => {
    if (one.kind !== "message" || one.id === entry.id || entry.album === undefined) return false;
    return one.album === entry.album && one.role === entry.role && one.senderId === entry.senderId;
  });
  return [entry, ...others];
}

/**
 * Waits until an album is complete, as far as one can tell.
 * @param signal ends the wait
 * @returns false if it need not wait
 */
export async function awaitParts(
  parts: readonly MessageEntry[],
  now: number,
  signal: AbortSignal,
): Promise<boolean> {
  const [{ album } = {}] = parts;
  const waitMs = Math.min(quietMs, Math.max(...parts.map(({ at }) => at)) + quietMs - now);
  if (album === undefined || waitMs <= 0 || signal.aborted) return false;
  await sleep(waitMs, undefined, { signal }).catch(() => {});
  return true;
}

/** One message with the content of all parts, in the platform's order. It is the first of them. */
export function joinParts(parts: readonly [MessageEntry, ...MessageEntry[]]): MessageEntry {
  const [first] = parts;
  if (parts.length === 1) return first;
  const sorted = parts.toSorted((a, b) => placeOf(a).localeCompare(placeOf(b), undefined, { numeric: true }));
  const [head = ""] = first.text.split("\n", 1);
  // Each part may answer the same message.
  const texts = new Set(sorted.map(({ text }) => text.split("\n").slice(1).join("\n")).filter(Boolean));
  const media = sorted.flatMap((part) => part.media ?? []);
  const attachments = sorted.flatMap((part) => part.attachments ?? []);
  const origins = joinOrigins(...parts.map((part) => part.origins));
  const overrides = sorted.find((part) => part.overrides)?.overrides;
  return {
    ...first,
    origin: sorted[0]?.origin ?? first.origin,
    text: [head, ...texts].join("\n"),
    ...(media.length > 0 ? { media } : {}),
    ...(attachments.length > 0 ? { attachments } : {}),
    ...(origins.length > 0 ? { origins } : {}),
    ...(overrides ? { overrides } : {}),
  };
}

const placeOf = ({ origin }: MessageEntry) => (origin.kind === "channel" ? (origin.replyToId ?? "") : "");
