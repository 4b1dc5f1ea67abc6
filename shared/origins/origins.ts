/**
 * Whose words a run has read, or a stored text contains, besides the owner's: a sorted set of `guest:{channel}/{sender}`,
 * `web:{host}`, `machine:{node}`, `peer:{session}` and `unknown`; `{kind}:*` for many of one kind. A set only grows.
 */
export type Origins = readonly string[];

/** The origin of words whose writer cannot be told. */
export const unknownOrigin = "unknown";

/** Max entries of one kind in a set; more become `{kind}:*`. */
const maxOfKind = 8;

/** Max characters of a name in an entry. */
const maxName = 80;

/** Max characters of a set as metadata of an object: S3 allows 2 KB, percent-encoded, for all metadata. */
const maxMetadata = 1200;

/** The words of a person on a channel who is no owner. */
export const guestOrigin = (channel: string, sender: string): string =>
  entry("guest", `${channel}/${sender}`);

/** What a host on the network serves. */
export const webOrigin = (host: string): string => entry("web", host.toLowerCase());

/** What a node answers. */
export const machineOrigin = (nodeId: string): string => entry("machine", nodeId);

/** What another session said, if it did not say whose words it had read. */
export const peerOrigin = (sessionKey: string): string => entry("peer", sessionKey);

/** The kind of an entry: the text before its colon. */
export const kindOf = (origin: string): string => origin.split(":", 1)[0] ?? "";

/** Whether an entry says that a machine of the owner wrote the words. */
export const isOfMachine = (origin: string): boolean => kindOf(origin) === "machine";

function entry(kind: string, name: string): string {
  return `${kind}:${name.replaceAll(/[^\w.~@+/:*-]/g, "_").slice(0, maxName)}`;
}

/** The union of sets. */
export function joinOrigins(...sets: readonly (Origins | undefined)[]): string[] {
  const all = [...new Set(sets.flatMap((set) => set ?? []))];
  const bounded = all.map((one) => {
    const kind = `${kindOf(one)}:`;
    const isMany =
      all.includes(`${kind}*`) || all.filter((other) => other.startsWith(kind)).length > maxOfKind;
    return isMany ? `${kind}*` : one;
  });
  return [...new Set(bounded)].sort();
}

/** A set as metadata of an object; nothing for the owner's words. */
export function originsMetadata(origins: Origins = []): { origins?: string } {
  if (origins.length === 0) return {};
  const text = origins.join(",");
  if (encodeURIComponent(text).length <= maxMetadata) return { origins: text };
  const kinds = origins.map((one) => (one === unknownOrigin ? one : `${kindOf(one)}:*`));
  return { origins: joinOrigins(kinds).join(",") };
}

/** The set in an object's metadata. */
export function originsIn({ origins = "" }: { origins?: string }): string[] {
  return joinOrigins(origins.split(",").filter((one) => one !== ""));
}
