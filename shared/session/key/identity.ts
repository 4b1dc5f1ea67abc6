/** Canonical names of people, each with the ids they have on channels; the first match wins. */
export type IdentityLinks = Readonly<Record<string, readonly string[]>>;

/** `{channel}:{id}`; a plain id starts with a digit or `+`, or holds no colon. */
const prefixedEntry = /^([a-z][^:]*):(.+)$/is;

/** Digits with the usual marks between. A leading minus, as in the ids of Telegram groups, makes it no number. */
const phoneNumber = /^\+?[(\s]*\d[\d\s().-]*$/;

/** Fewest digits that are taken for a phone number with its country. */
const minPhoneDigits = 10;

/**
 * The form in which ids of people are compared: in `allowFrom`, in identity links and in bindings. WhatsApp's
 * suffixes (`@s.whatsapp.net`, `@c.us`, a device such as `:0`) are dropped; of what then looks like a phone number,
 * only the digits stay, with `+` before ten or more (E.164). Any other id is compared in lower case, as it is:
 * the digits within a name or a room's id are no number.
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

/** Whether two ids are the same person's or group's on one channel. Empty ids are nobody's. */
export function isSameSender(left: string, right: string): boolean {
  const normalized = normalizeSenderId(left);
  return normalized !== "" && normalized === normalizeSenderId(right);
}

/**
 * The canonical name that the links give a peer. A plain entry matches on every channel, one with a channel's name
 * before it (`telegram:123456789`) only there.
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
