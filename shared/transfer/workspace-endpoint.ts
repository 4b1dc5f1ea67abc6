import { code, PeerError } from "../protocol/errors.ts";
import { sizeText } from "../runtime/size-text.ts";
import { maxFileBytes, workspaceContentType } from "../workspace/workspace-files.ts";
import { isPromptPath, isSkillPath } from "../workspace/workspace-paths.ts";
import type { Bucket, ObjectStream } from "../world/world.ts";
import { type WorkspaceEnd, workspaceKey } from "./transfer-endpoint.ts";
import { readParts, storeParts } from "./transfer-parts.ts";
import type { Transfer } from "./transfer-state.ts";

/** Largest file that a transfer takes out of a workspace or puts there: a function copies it within its 29 seconds. */
const maxWorkspaceBytes = 100 * 1024 * 1024;

/** Largest file, in bytes, that a transfer puts at a path of a workspace: one for prompts is as small as one that is written there. */
export function maxBytesAt({ path }: WorkspaceEnd): number {
  return isPromptPath(path) ? maxFileBytes : maxWorkspaceBytes;
}

/** Stores a workspace's file in parts, as a machine does that sends one. @throws PeerError, WrongParts */
export async function sendFromWorkspace(
  bucket: Bucket,
  transfer: Transfer,
  source: WorkspaceEnd,
): Promise<Partial<Transfer>> {
  const file = await openFile(bucket, source);
  const sent = await storeParts(bucket, transfer, file.body, maxWorkspaceBytes);
  return { ...sent, step: "offered", ...mimeOf(file) };
}

/** Puts the stored parts together to a workspace's file, which appears only when it is whole and right. @throws WrongParts */
export async function copyIntoWorkspace(
  bucket: Bucket,
  transfer: Transfer,
  destination: WorkspaceEnd,
): Promise<Partial<Transfer>> {
  const contentType = workspaceContentType(destination.path, transfer.mime);
  await bucket.putStream(workspaceKey(destination), readParts(bucket, transfer), { contentType });
  return { step: "done", taken: transfer.stored };
}

/** Copies a file within the bucket. @throws PeerError */
export async function copyInBucket(
  bucket: Bucket,
  source: WorkspaceEnd,
  destination: WorkspaceEnd,
): Promise<Partial<Transfer>> {
  const file = await openFile(bucket, source);
  let size = 0;
  const most = maxBytesAt(destination);
  async function* counted() {
    for await (const chunk of file.body) {
      size += chunk.byteLength;
      if (size > most) throw tooLarge(destination);
      yield chunk;
    }
  }
  const contentType = workspaceContentType(destination.path, file.contentType);
  await bucket.putStream(workspaceKey(destination), counted(), { contentType });
  return { step: "done", size, ...mimeOf(file) };
}

/** The refusal of a file at a path of a workspace. @param size of the file, in bytes, where it is known */
export function tooLarge(destination: WorkspaceEnd, size?: number): PeerError {
  const most = maxBytesAt(destination);
  const what =
    most === maxFileBytes ? "a file that prompts use holds" : "transfers from and to the workspace hold";
  const has = size === undefined ? "" : `the file has ${sizeText(size)}; `;
  const message = `gsv:${destination.path}: ${has}${what} at most ${sizeText(most)}`;
  return new PeerError(code.tooLarge, message);
}

/** @throws PeerError 404 */
async function openFile(bucket: Bucket, source: WorkspaceEnd): Promise<ObjectStream> {
  const { path } = source;
  const own = await bucket.getStream(workspaceKey(source));
  const file = own ?? (isSkillPath(path) ? await bucket.getStream(path) : undefined);
  if (!file) throw new PeerError(code.notFound, `workspace file not found: ${path}`);
  return file;
}

function mimeOf({ contentType }: ObjectStream): { mime?: string } {
  return contentType === undefined ? {} : { mime: contentType };
}
