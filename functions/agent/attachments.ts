import { type ContentBlock, lostMediaNote, mediaBlocks } from "../../shared/media/media-content.ts";
import { maxMediaBytes, storeMedia } from "../../shared/media/media-store.ts";
import { kindOfMedia } from "../../shared/media/media-types.ts";
import { PeerError } from "../../shared/protocol/errors.ts";
import type { StoredMedia } from "../../shared/protocol/messages.ts";
import { log } from "../../shared/runtime/log.ts";
import type { InboxEntry, Origin, RemoteMedia } from "../../shared/session/inbox-entry.ts";
import { assign } from "../../shared/session/state.ts";
import type { Agent } from "./agent.ts";
import { type Paying, payingFor } from "./payer.ts";
import type { SessionWriter } from "./session-writer.ts";
import { whileTyping } from "./typing.ts";

/** Time limit for fetching and transcribing all attachments of a message. The rest is dropped. Milliseconds. */
const fetchMs = 60_000;

/** After this many crashes over a message's attachments the agent goes on without them: one of them kills the function. */
const maxTries = 3;

type Receiver = Pick<
  Agent,
  "configuration" | "bucket" | "fetchAttachment" | "transcribe" | "channels" | "now"
>;

/**
 * Fetches and stores the attachments of a message, and transcribes voice notes. A note replaces an attachment that
 * cannot be fetched; the message itself is never lost. After a crash the attachments are fetched again, at most `maxTries`
 * times, and stored under the same keys. A stop ends the wait. @throws LeaseLost
 */
export async function receiveAttachments(
  agent: Receiver,
  writer: Pick<SessionWriter, "sessionKey" | "state" | "commit" | "interrupted">,
  entry: Extract<InboxEntry, { kind: "message" }>,
): Promise<ContentBlock[]> {
  const { attachments = [], origin, id } = entry;
  if (attachments.length === 0) return [];
  const { sessionKey } = writer;
  const before = writer.state.receiving?.entryId === id ? writer.state.receiving.tries : 0;
  if (before >= maxTries)
    return attachments.map((media) => lost(sessionKey, media, `fetching it was interrupted ${before} times`));
  await writer.commit([assign("receiving", { entryId: id, tries: before + 1 })]);
  const until = agent.now() + fetchMs;
  const paying = payingFor(await agent.configuration.load(), { ...entry, runId: id }, sessionKey);
  return whileTyping(agent, origin, async () => {
    const blocks: ContentBlock[] = [];
    // One at a time: each may have 25 MB, and the function has little memory.
    for (const [index, media] of attachments.entries()) {
      const target = { sessionKey, id: JSON.stringify([id, index]), now: agent.now(), paying };
      const stopped = () => [lost(sessionKey, media, "the user stopped it")];
      const received = () => receive(agent, origin, target, media, until);
      blocks.push(...(await unlessAborted(writer.interrupted, received, stopped)));
    }
    return blocks;
  });
}

/** Does the work, or stops waiting for it when the signal aborts. Its own time limit ends it then. */
function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>, instead: () => T): Promise<T> {
  if (signal.aborted) return Promise.resolve(instead());
  return new Promise<T>((resolve, reject) => {
    const end = () => resolve(instead());
    signal.addEventListener("abort", end);
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", end));
  });
}

async function receive(
  agent: Receiver,
  origin: Origin,
  target: Parameters<typeof storeMedia>[1] & { paying: Paying },
  media: RemoteMedia,
  until: number,
): Promise<ContentBlock[]> {
  const fetched = await fetchMedia(agent, origin, media, until - agent.now());
  if (!fetched.ok) return [lost(target.sessionKey, media, fetched.reason)];
  const { body, mimeType } = fetched;
  const { filename, duration, voice } = media;
  const described = {
    ...(filename === undefined ? {} : { filename }),
    ...(duration === undefined ? {} : { duration }),
  };
  let stored: StoredMedia;
  try {
    const incoming = { type: kindOfMedia(mimeType), mimeType, body, ...described };
    stored = await storeMedia(agent.bucket, target, incoming);
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    return [lost(target.sessionKey, media, error.message)];
  }
  log("media.stored", { sessionKey: target.sessionKey, type: stored.type, bytes: stored.size });
  if (!voice) return mediaBlocks(stored);
  return voiceBlocks(agent, { ...stored, voice }, body, until - agent.now(), target.paying);
}

async function fetchMedia(agent: Receiver, origin: Origin, media: RemoteMedia, timeoutMs: number) {
  if (origin.kind !== "channel")
    return { ok: false, reason: "the message did not come from a channel" } as const;
  if ((media.size ?? 0) > maxMediaBytes)
    return { ok: false, reason: `larger than ${maxMediaBytes / 1024 / 1024} MB` } as const;
  if (timeoutMs <= 0) return { ok: false, reason: "the other attachments took too long" } as const;
  return agent.fetchAttachment(origin, media, timeoutMs);
}

async function voiceBlocks(
  agent: Receiver,
  voice: StoredMedia,
  body: Buffer,
  timeoutMs: number,
  paying: Paying,
): Promise<ContentBlock[]> {
  const recording = { body, mimeType: voice.mimeType };
  const outcome = await agent.transcribe(recording, Math.max(1, timeoutMs), paying);
  if (outcome.status === "transcribed") return mediaBlocks({ ...voice, transcription: outcome.text });
  const why =
    outcome.status === "off"
      ? "not transcribed: no transcription is configured"
      : `the transcription failed: ${outcome.reason}`;
  return [...mediaBlocks(voice), { type: "text", text: `[${why.replace(/[[\]]/g, "_")}]` }];
}

function lost(sessionKey: string, media: RemoteMedia, reason: string): ContentBlock {
  log("media.lost", { sessionKey, type: media.type, reason });
  return lostMediaNote(media, `could not be fetched: ${reason}`);
}
