import { randomUUID } from "node:crypto";
import { basename } from "node:path/posix";
import * as v from "valibot";
import type { ChannelOrigin, OutboundFile } from "../../../../shared/channels/channel.ts";
import { channels } from "../../../../shared/channels/channels.ts";
import { placeOf } from "../../../../shared/channels/conversation-place.ts";
import { roomIds } from "../../../../shared/channels/inbound/admission.ts";
import { findReceiver } from "../../../../shared/channels/receiver.ts";
import { imageTypeOf } from "../../../../shared/media/image-format.ts";
import { mediaPrefix } from "../../../../shared/media/media-store.ts";
import { essenceOf, extensionOf } from "../../../../shared/media/media-types.ts";
import { code, PeerError } from "../../../../shared/protocol/errors.ts";
import { type Audience, checkReadable } from "../../../../shared/workspace/privacy.ts";
import type { Agent } from "../../agent.ts";
import { nativeTool, type ToolTurn } from "./native-tool.ts";

const named = (maxLength: number, description: string) =>
  v.optional(
    v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(maxLength), v.description(description)),
  );

const messageArguments = {
  text: v.optional(v.pipe(v.string(), v.maxLength(100_000))),
  channel: named(256, `${Object.keys(channels).join(", ")}, or a bridge's`),
  to: named(256, "Telegram chat, WhatsApp number, Slack or Discord channel; a thread is room/thread"),
  peerKind: v.optional(v.pipe(v.picklist(["dm", "group", "channel", "thread"]), v.description("Default dm"))),
  accountId: named(256, ""),
  replyToId: named(256, ""),
  media: named(4096, "File: media/… as named here, gsv:path of your workspace, or https://…"),
};
type Args = v.InferOutput<v.ObjectSchema<typeof messageArguments, undefined>>;

export const message = nativeTool({
  name: "gsv__Message",
  description:
    "Send a message or file to a person or room on a channel now, by default where this conversation was last on one. " +
    "Your answer to the sender goes automatically.",
  arguments: messageArguments,
  alsoRequired: ["text"],
  repeatable: false,
  forGuests: false,
  async run(args, { agent, turn, address }) {
    const { text = "" } = args;
    if (text.trim() === "" && args.media === undefined)
      throw new PeerError(code.badRequest, "text: there is nothing to send");
    const { sessionKey } = address;
    const { table, configuration } = agent;
    const last =
      turn.lastChannel ?? (await placeOf(table, await configuration.load({ fresh: true }), { sessionKey }));
    const destination = destinationOf(args, last);
    checkReachable(turn.audience, destination, last);
    const origin = await findReceiver(agent, destination, turn.sender);
    if (typeof origin === "string") return { ok: false, error: `not sent: ${origin}` };
    const file = args.media === undefined ? undefined : await loadFile(agent, turn, sessionKey, args.media);
    // A random id is enough: the recorded intent prevents a second attempt of this call.
    const from = { sessionKey, ...origin };
    const sent = await agent.channels.deliver(from, `message:${randomUUID()}`, { markdown: text }, file);
    if (!sent.ok) return { ok: false, error: `not sent: ${sent.reason}` };
    const { channel, accountId, peer } = origin;
    return { ok: true, result: { status: "sent", channel, accountId, to: peer.id } };
  },
});

/** A message's destination: the named fields, with the conversation's last channel as the default. @throws PeerError 400 */
export function destinationOf(
  { channel, to, peerKind = "dm", accountId, replyToId }: Args,
  last: ChannelOrigin | undefined,
): ChannelOrigin {
  const reply = replyToId === undefined ? {} : { replyToId };
  const isElsewhere = channel !== undefined && channel !== last?.channel;
  if (last && to === undefined && !isElsewhere && (accountId ?? last.accountId) === last.accountId) {
    const { replyToId: _answered, ...there } = last;
    return { ...there, ...reply };
  }
  const name = channel ?? last?.channel;
  if (name === undefined)
    throw new PeerError(
      code.badRequest,
      "channel: this conversation was not held on a channel yet; give channel and to",
    );
  if (to === undefined) throw new PeerError(code.badRequest, "to: give the id of the person or room");
  const account = accountId ?? (isElsewhere ? undefined : last?.accountId) ?? "default";
  return { kind: "channel", channel: name, accountId: account, peer: { kind: peerKind, id: to }, ...reply };
}

/**
 * Checks that a message from a shared conversation stays there: its participants' words must not reach others in the owner's
 * name. A thread may be answered in its room.
 * @throws PeerError 403
 */
function checkReachable(
  audience: Audience,
  destination: ChannelOrigin,
  last: ChannelOrigin | undefined,
): void {
  const isHere =
    destination.channel === last?.channel &&
    destination.accountId === last.accountId &&
    destination.peer.kind !== "dm" &&
    roomIds(last.peer.id).includes(destination.peer.id);
  if (audience !== "shared" || isHere || destination.peer === last?.peer) return;
  throw new PeerError(
    code.forbidden,
    "from a conversation that several people share, a message can only go to that conversation: leave out channel and to. The owner can write to others in their own conversation",
  );
}

/** Max length of a sent file's name, in characters. */
const maxName = 100;

const anyType = "application/octet-stream";

type Files = Pick<Agent, "bucket" | "workspace" | "guardedFetch">;

/**
 * Loads the file that the model named: media of its own conversation, a workspace file that this conversation may read, or
 * a file at a public https address.
 * @throws PeerError for a missing file, and for one that this conversation may not send
 */
export async function loadFile(
  agent: Files,
  turn: Pick<ToolTurn, "agentId" | "audience">,
  sessionKey: string,
  media: string,
): Promise<OutboundFile> {
  if (/^https?:/i.test(media)) return fromAddress(agent, media);
  if (media.startsWith("gsv:")) return fromWorkspace(agent, turn, media.slice("gsv:".length));
  return fromMedia(agent, sessionKey, media);
}

async function fromMedia(agent: Files, sessionKey: string, key: string): Promise<OutboundFile> {
  const object = key.startsWith(mediaPrefix(sessionKey)) ? await agent.bucket.get(key) : undefined;
  if (!object) throw new PeerError(code.notFound, "media: this conversation has no such file");
  const { body, contentType, metadata } = object;
  return toFile(body, contentType, metadata.originalFilename || basename(key));
}

async function fromWorkspace(
  agent: Files,
  { agentId, audience }: Pick<ToolTurn, "agentId" | "audience">,
  path: string,
): Promise<OutboundFile> {
  checkReadable(audience, path);
  const { content } = await agent.workspace.read(agentId, path);
  return toFile(Buffer.from(content), "text/plain", basename(path));
}

async function fromAddress(agent: Files, url: string): Promise<OutboundFile> {
  const fetched = await agent.guardedFetch({ url });
  if (!fetched.ok) throw new PeerError(code.badRequest, `media: could not be fetched: ${fetched.reason}`);
  const { pathname } = new URL(url);
  return toFile(fetched.body, fetched.contentType, basename(pathname));
}

function toFile(body: Uint8Array, contentType: string | undefined, name: string): OutboundFile {
  if (body.byteLength === 0) throw new PeerError(code.badRequest, "media: the file is empty");
  const named = essenceOf(contentType ?? "");
  const mimeType = imageTypeOf(body) ?? (/^[\w.+-]+\/[\w.+-]+$/.test(named) ? named : anyType);
  const plain = plainName(name);
  return { body, mimeType, filename: /\.\w+$/.test(plain) ? plain : `${plain}.${extensionOf(mimeType)}` };
}

function plainName(name: string): string {
  const plain = name.replace(/[\p{Cc}\p{Bidi_Control}/\\"]+/gu, "_").toWellFormed();
  return plain.slice(-maxName) || "file";
}
