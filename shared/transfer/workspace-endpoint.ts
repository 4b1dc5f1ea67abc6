import { joinOrigins, machineOrigin, originsIn, originsMetadata } from "../origins/origins.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { sizeText } from "../runtime/size-text.ts";
import { maxFileBytes, workspaceContentType } from "../workspace/workspace-files.ts";
import { isPromptPath, isSkillPath } from "../workspace/workspace-paths.ts";
import type { Bucket, ObjectStream } from "../world/world.ts";
import { type WorkspaceEnd, workspaceKey } from "./transfer-endpoint.ts";
import { readParts, storeParts } from "./transfer-parts.ts";
import type { Transfer } from "./transfer-state.ts";

/** Maximum file size of a transfer from or to a workspace: a function must copy it within its 29 seconds. */
const maxWorkspaceBytes = 100 * 1024 * 1024;

/** Maximum file size, in bytes, at a workspace path: files that prompts use have the limit of written files. */
export function maxBytesAt({ path }: WorkspaceEnd): number {
  return isPromptPath(path) ? maxFileBytes : maxWorkspaceBytes;
}

/** Stores a workspace's file in parts, like a sending machine. @throws PeerError, WrongParts */
export async function sendFromWorkspace(
  bucket: Bucket,
  transfer: Transfer,
  source: WorkspaceEnd,
): Promise<Partial<Transfer>> {
  const file = await openFile(bucket, source);
  const sent = await storeParts(bucket, transfer, file.body, maxWorkspaceBytes);
  return { ...sent, step: "offered", ...mimeOf(file) };
}

/** Joins the stored parts into a workspace's file, which appears only when it is complete and correct. @throws WrongParts */
export async function copyIntoWorkspace(
  bucket: Bucket,
  transfer: Transfer,
  destination: WorkspaceEnd,
): Promise<Partial<Transfer>> {
  const contentType = workspaceContentType(destination.path, transfer.mime);
  const { origins, source } = transfer;
  const machine = origins && source.kind === "node" ? [machineOrigin(source.id)] : [];
  const metadata = originsMetadata(joinOrigins(origins, machine));
  await bucket.putStream(workspaceKey(destination), readParts(bucket, transfer), { contentType, metadata });
  return { step: "done", taken: transfer.stored };
}

/** Copies a file within the bucket. @throws PeerError */
export async function copyInBucket(
  bucket: Bucket,
  { origins }: Pick<Transfer, "origins">,
  source: WorkspaceEnd,
  destination: WorkspaceEnd,
): Promise<Partial<Transfer>> {
  const file = await openFile(bucket, source);
  let size = 0;
  const maxBytes = maxBytesAt(destination);
  async function* counted() {
    for await (const chunk of file.body) {
      size += chunk.byteLength;
      if (size > maxBytes) throw tooLarge(destination);
      yield chunk;
    }
  }
  const contentType = workspaceContentType(destination.path, file.contentType);
  const metadata = originsMetadata(joinOrigins(originsIn(file.metadata), origins));
  await bucket.putStream(workspaceKey(destination), counted(), { contentType, metadata });
  return { step: "done", size, ...mimeOf(file) };
}

/** The error for a file that is too large for a workspace path. @param size of the file in bytes, if known */
export function tooLarge(destination: WorkspaceEnd, size?: number): PeerError {
  const maxBytes = maxBytesAt(destination);
  const what = maxBytes === maxFileBytes ? "files that prompts use" : "transfers from and to the workspace";
  const has = size === undefined ? "" : `the file has ${sizeText(size)}; `;
  const message = `gsv:${destination.path}: ${has}the limit for ${what} is ${sizeText(maxBytes)}`;
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
