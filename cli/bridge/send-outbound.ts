import { setTimeout as sleep } from "node:timers/promises";
import type { ChannelAccount, OutboundFile, SendOutcome } from "../../shared/channels/channel.ts";
import { createDiscord } from "../../shared/channels/discord/discord.ts";
import type { ChannelOutbound } from "../../shared/protocol/events.ts";
import { backoffDelay } from "../gateway/backoff.ts";

/** Attempts to send one message. With the waits between them they take about five minutes. */
const maxAttempts = 12;

const discord = createDiscord();

/**
 * Posts a message of the agent, or its file. Discord recognizes a repeat by the message's id.
 * @returns its id at Discord, or why it could not be posted, in Discord's words
 * @throws the signal's reason after an abort
 */
export async function sendOutbound(
  account: ChannelAccount,
  outbound: ChannelOutbound,
  signal: AbortSignal,
): Promise<{ messageId?: string; error?: string }> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    const outcome = await send(account, outbound);
    if (outcome.status === "sent") return { messageId: outcome.messageId };
    if (outcome.status === "failed" || attempt === maxAttempts) return { error: outcome.reason };
    await sleep(outcome.retryAfterMs ?? 1000 + backoffDelay(attempt, 1000, 60_000), undefined, { signal });
  }
}

async function send(account: ChannelAccount, { peer, message }: ChannelOutbound): Promise<SendOutcome> {
  const { id, text, replyToId } = message;
  const to = { id, peer, ...(replyToId === undefined ? {} : { replyToId }) };
  const [media] = message.media ?? [];
  if (!media) return discord.send(account, { ...to, text });
  const body = await download(media.url);
  if (typeof body === "string") return { status: "retry", reason: body };
  const file: OutboundFile = { filename: media.filename ?? "file", mimeType: media.mimeType, body };
  return (
    discord.sendFile?.(account, { ...to, file }) ?? { status: "failed", reason: "files are not supported" }
  );
}

/** A file that the gateway keeps for a few minutes. @returns its bytes, or why they cannot be had */
async function download(url: string): Promise<Uint8Array | string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(60_000) });
    if (response.ok) return new Uint8Array(await response.arrayBuffer());
    return `the gateway's storage answered HTTP ${response.status}`;
  } catch (error) {
    return `the gateway's storage did not answer: ${(error as Error).message}`;
  }
}
