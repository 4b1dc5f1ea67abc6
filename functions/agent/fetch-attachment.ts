import { setTimeout as sleep } from "node:timers/promises";
import type { ChannelAddress, MediaLocation } from "../../shared/channels/channel.ts";
import { type Accounts, findTarget, type Target } from "../../shared/channels/outbound/target.ts";
import type { Fetched, GuardedFetch } from "../../shared/http/guarded-fetch.ts";
import { essenceOf } from "../../shared/media/media-types.ts";
import type { RemoteMedia } from "../../shared/session/inbox-entry.ts";

/** Attempts to fetch an attachment, as long as the failures are temporary. */
const maxTries = 3;

/** The wait before the second attempt; it doubles with each further one. Milliseconds. */
const firstWaitMs = 500;

export interface AttachmentOptions extends Accounts {
  guardedFetch: GuardedFetch;
  wait?: (ms: number) => Promise<unknown>;
}

/** The attachment's bytes and declared type, or the reason it could not be fetched. */
export type Attachment = { ok: true; body: Buffer; mimeType: string } | { ok: false; reason: string };

/** Fetches an attachment of a message from its channel's platform. Does not throw when the platform fails. */
export type FetchAttachment = (
  address: ChannelAddress,
  media: RemoteMedia,
  /** For all attempts together. */
  timeoutMs: number,
) => Promise<Attachment>;

export function createFetchAttachment({ wait = sleep, ...options }: AttachmentOptions): FetchAttachment {
  return async (address, media, timeoutMs) => {
    const until = Date.now() + timeoutMs;
    const target = await findTarget(options, address);
    if (!target.ok) return target;
    for (let tries = 1; ; tries++) {
      const fetched = await fetchOnce(options.guardedFetch, target, media, until - Date.now());
      if (fetched.ok) return toAttachment(media, fetched);
      const waitMs = firstWaitMs * 2 ** (tries - 1);
      if (!fetched.passing || tries >= maxTries || Date.now() + waitMs >= until) return fetched;
      await wait(waitMs);
    }
  };
}

async function fetchOnce(
  guardedFetch: GuardedFetch,
  { channel, account }: Target,
  { source }: RemoteMedia,
  timeoutMs: number,
): Promise<Fetched> {
  const located = await (channel.locate?.(account, source) ?? addressIn(source));
  if (located.status !== "found")
    return { ok: false, reason: located.reason, passing: located.status === "retry" };
  const { url, headers = {} } = located;
  const { apiBaseUrl } = account.settings;
  const trustedOrigins = typeof apiBaseUrl === "string" ? [new URL(apiBaseUrl).origin] : [];
  return guardedFetch({ url, headers, trustedOrigins, timeoutMs: Math.max(1, timeoutMs) });
}

function addressIn({ url }: Readonly<Record<string, string>>): MediaLocation {
  if (url === undefined) return { status: "failed", reason: "the platform names no address" };
  return { status: "found", url };
}

/** Platforms answer a missing permission with a login page instead of the file. */
function toAttachment(
  { mimeType }: RemoteMedia,
  { body, contentType }: Extract<Fetched, { ok: true }>,
): Attachment {
  const isPage = contentType !== undefined && essenceOf(contentType) === "text/html";
  if (isPage && mimeType !== undefined && essenceOf(mimeType) !== "text/html")
    return {
      ok: false,
      reason: "the platform sent a web page instead of the file; check the bot's permissions",
    };
  return { ok: true, body, mimeType: mimeType ?? contentType ?? "application/octet-stream" };
}
