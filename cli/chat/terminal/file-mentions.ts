import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type AttachedFile, readAttachment } from "../attached-files.ts";

/** A message whose `@file` words are replaced, and what they attach. */
export interface MentionedFiles {
  message: string;
  files: AttachedFile[];
}

/** Most files of one message, a limit of the gateway. */
const maxFiles = 10;
const mention = /(?<=^|\s)@(?:"([^"\n]+)"|(\S+))/g;

/** The absolute path of what a user typed: relative to `folder`, absolute, or from the home with `~/`. */
export function pathOf(typed: string, folder: string, home: string | undefined): string {
  return home !== undefined && typed.startsWith("~/") ? join(home, typed.slice(2)) : resolve(folder, typed);
}

/**
 * Reads the files that a message mentions as `@path` or `@"path with blanks"`. An image or a document is attached, and its
 * word stays. Any other file, and a folder, is named by its full path, with which a node of this machine can read it. A
 * word that names no file stays as it is.
 * @throws Failure (usage) for an attachment above 25 MB
 */
export async function readMentions(
  message: string,
  folder: string,
  home: string | undefined,
): Promise<MentionedFiles> {
  const files: AttachedFile[] = [];
  let text = "";
  let end = 0;
  for (const { 0: whole, 1: quoted, 2: bare = "", index } of message.matchAll(mention)) {
    const typed = quoted ?? bare;
    const found = (await fileAt(typed, folder, home)) ?? (await fileAt(withoutStop(typed), folder, home));
    if (found === undefined) continue;
    const attached =
      found.isFile && files.length < maxFiles ? await readAttachment(found.path, found.typed) : undefined;
    if (attached !== undefined) files.push(attached);
    const path = quoted === undefined ? found.path : `"${found.path}"`;
    const word =
      attached === undefined ? path : whole.slice(0, whole.length - typed.length + found.typed.length);
    text += message.slice(end, index) + word;
    end = index + (quoted === undefined ? 1 + found.typed.length : whole.length);
  }
  return { message: text + message.slice(end), files };
}

/** A path without what ends a clause behind it. */
function withoutStop(typed: string): string {
  return typed.replace(/[.,;:!?)\]]+$/, "");
}

async function fileAt(
  typed: string,
  folder: string,
  home: string | undefined,
): Promise<{ typed: string; path: string; isFile: boolean } | undefined> {
  if (typed === "") return undefined;
  const path = pathOf(typed, folder, home);
  const found = await stat(path).catch(() => undefined);
  return found && { typed, path, isFile: found.isFile() };
}
