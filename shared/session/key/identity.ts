import { lowerCase } from "./key-part.ts";

/** Canonical names of people, each with a list of their ids on channels. The first matching name wins. */
export type IdentityLinks = Readonly<Record<string, readonly string[]>>;

/** `{channel}:{id}`. An entry without a channel starts with a digit or `+`, or has no colon. */
const prefixedEntry = /^([a-z][^:]*):(.+)$/is;

/**
 * Digits and the usual separators. An id with a leading minus, such as a Telegram group's, is not a phone
 * number.
 */
const phoneNumber = /^\+?[(\s]*\d[\d\s().-]*$/;

/** Minimum number of digits of a phone number with its country code. */
const minPhoneDigits = 10;

/**
 * How channels whose ids are phone numbers write one person's id in several ways. Every other channel has
 * one way to write an id: it is compared without letter case, and in no other way.
 */
const rules: ReadonlyMap<string, (id: string) => string> = new Map([
  ["whatsapp", (id: string) => plainPhone(withoutServer(id))],
  ["signal", plainPhone],
  ["imessage", plainPhone],
  ["sms", plainPhone],
]);

/**
 * Normalizes an id of a person or a room for comparison on its channel, by the channel's own rules. Two ids
 * with the same result belong to the same person.
 * - whatsapp: without `@s.whatsapp.net`, `@c.us` and a device such as `:0`; then as a phone number.
 * - signal, imessage, sms: a phone number keeps only its digits, with `+` in front when there are ten or more
 *   (E.164); any other id is only lower-cased.
 * - every other channel: A-Z become lower case, nothing else changes.
 * @param channel the channel's name in lower case
 */
export function normalizeSenderId(channel: string, id: string): string {
  const lower = lowerCase(id);
  return rules.get(channel)?.(lower) ?? lower;
}

/**
 * Whether an entry of the configuration names this id of the channel. Blanks around an entry do not count;
 * an empty entry or id never matches.
 */
export function isSameSender(channel: string, entry: string, id: string): boolean {
  const normalized = normalizeSenderId(channel, entry.trim());
  return normalized !== "" && normalized === normalizeSenderId(channel, id);
}

/**
 * The canonical name of a peer; undefined when no entry matches. A plain entry is compared on every channel,
 * by that channel's rules; an entry with a channel's name in front (`telegram:123456789`) only on that
 * channel.
 * @param channel the channel's name in lower case
 */
export function resolveIdentityLink(
  peerId: string,
  channel: string,
  links: IdentityLinks = {},
): string | undefined {
  for (const [name, entries] of Object.entries(links)) {
    if (entries.some((entry) => matches(entry.trim(), peerId, channel))) return name;
  }
  return undefined;
}

function matches(entry: string, peerId: string, channel: string): boolean {
  const [, prefix, id] = prefixedEntry.exec(entry) ?? [];
  if (prefix === undefined || id === undefined) return isSameSender(channel, entry, peerId);
  return prefix.trim().toLowerCase() === channel && isSameSender(channel, id, peerId);
}

/** Without WhatsApp's server and device: `31628552611` of `31628552611:2@s.whatsapp.net`. */
function withoutServer(id: string): string {
  return id.replace(/@(s\.whatsapp\.net|c\.us)$/, "").replace(/:\d+$/, "");
}

function plainPhone(id: string): string {
  if (!phoneNumber.test(id)) return id;
  const digits = id.replace(/\D/g, "");
  return digits.length >= minPhoneDigits ? `+${digits}` : digits;
}
