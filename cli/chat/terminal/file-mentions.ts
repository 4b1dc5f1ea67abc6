import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type AttachedFile, readAttachment } from "../attached-files.ts";

/** A message with its `@file` words replaced, and the attached files. */
interface MentionedFiles {
  message: string;
  files: AttachedFile[];
}

/** Max number of files in a message, a limit of the gateway. */
const maxFiles = 10;
const mention = /(?<=^|\s)@(?:"([^"\n]+)"|(\S+))/g;

/** The absolute path for a typed path: relative to `folder`, absolute, or below the home folder with `~/`. */
export function pathOf(typed: string, folder: string, home: string | undefined): string {
  return home !== undefined && typed.startsWith("~/") ? join(home, typed.slice(2)) : resolve(folder, typed);
}

/**
 * Reads the files that a message mentions as `@path` or `@"path with blanks"`. An image or a document is attached, and the
 * word remains. For any other file or folder, the word becomes its full path, so that a node on this machine can read
 * it. A word that names no file remains.
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
    const found =
      (await fileAt(typed, folder, home)) ?? (await fileAt(withoutPunctuation(typed), folder, home));
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

/** A path without trailing punctuation. */
function withoutPunctuation(typed: string): string {
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
