import { basename } from "node:path/posix";
import type { OutboundFile } from "../../../../shared/channels/channel.ts";
import { imageTypeOf } from "../../../../shared/media/image-format.ts";
import { mediaPrefix } from "../../../../shared/media/media-store.ts";
import { essenceOf, extensionOf } from "../../../../shared/media/media-types.ts";
import { code, PeerError } from "../../../../shared/protocol/errors.ts";
import { checkReadable } from "../../../../shared/workspace/privacy.ts";
import type { Agent } from "../../agent.ts";
import type { ToolTurn } from "./native-tool.ts";

/** Longest name that a file is sent under, in characters. */
const maxName = 100;

const anyType = "application/octet-stream";

type Files = Pick<Agent, "bucket" | "workspace" | "guardedFetch">;

/**
 * The file that the model has named: media of its own conversation, a file of the workspace that this conversation may
 * read, or what lies at a public https address.
 * @throws PeerError for what is not there, or not to be sent from here
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
