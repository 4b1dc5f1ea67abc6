/** Canonical names of people, each with a list of their ids on channels. The first matching name wins. */
export type IdentityLinks = Readonly<Record<string, readonly string[]>>;

/** `{channel}:{id}`. An entry without a channel starts with a digit or `+`, or has no colon. */
const prefixedEntry = /^([a-z][^:]*):(.+)$/is;

/**
 * Digits and the usual separators. An id with a leading minus, such as a Telegram group's, is not a phone
 * number.
 */
const phoneNumber = /^\+?[(\s]*\d[\d\s().-]*$/;

/** Least number of digits of a phone number with its country code. */
const minPhoneDigits = 10;

/**
 * Normalizes a person's id for comparison in `allowFrom`, identity links and bindings. WhatsApp's suffixes
 * (`@s.whatsapp.net`, `@c.us`, a device such as `:0`) are removed. If the rest looks like a phone number,
 * only its digits are kept, with `+` in front when there are ten or more (E.164). Any other id is only
 * lower-cased.
 */
export function normalizeSenderId(id: string): string {
  const bare = id
    .trim()
    .toLowerCase()
    .replace(/@(s\.whatsapp\.net|c\.us)$/, "")
    .replace(/:\d+$/, "");
  if (!phoneNumber.test(bare)) return bare;
  const digits = bare.replace(/\D/g, "");
  return digits.length >= minPhoneDigits ? `+${digits}` : digits;
}

/** Whether two ids on one channel belong to the same person or group. Empty ids never match. */
export function isSameSender(left: string, right: string): boolean {
  const normalized = normalizeSenderId(left);
  return normalized !== "" && normalized === normalizeSenderId(right);
}

/**
 * The canonical name of a peer; undefined when no entry matches. A plain entry matches on every channel, an
 * entry with a channel's name in front (`telegram:123456789`) only on that channel.
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
  if (prefix === undefined || id === undefined) return isSameSender(entry, peerId);
  return prefix.trim().toLowerCase() === channel && isSameSender(id, peerId);
}
