import type { LeafPart, WirePart } from "../../protocol/content-parts.ts";
import type { RemoteMedia } from "../../session/inbox-entry.ts";

/** A file that is still stored at the platform. */
interface MediaPart {
  kind: "media";
  media: RemoteMedia;
}

/** What a forwarded message may contain. */
export type ForwardedPart = LeafPart | MediaPart;

type ForwardPart = Omit<Extract<WirePart, { kind: "forward" }>, "parts"> & { parts: ForwardedPart[] };

/**
 * A part of a message's content, independent of the platform. A platform's reader returns one for everything that its message
 * contains; `other` names what has no kind of its own.
 */
export type Part = Exclude<WirePart, { kind: "forward" }> | ForwardPart | MediaPart;
