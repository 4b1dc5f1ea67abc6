import type { FileObject } from "../protocol/objects.ts";
import { withHashes } from "./hash.ts";
import { type Call, resultText } from "./toolcall.ts";

/** A version of a file, as a call read or wrote it. */
export interface FileVersion {
  version_no: number;
  /** Number and time of the message with the result. */
  n: number;
  at: number;
  /** Id of the call. */
  call: string;
  generator: "agent" | "tool";
  /** Null if there is no text: unknown, not a text file, or deleted. */
  content: string | null;
  deleted: boolean;
}

/** A file of the workspace (`gsv`) or of a node that a conversation has touched. */
export interface TouchedFile {
  id: string;
  host: string;
  path: string;
  versions: FileVersion[];
  /** Ids of the calls that touched it, in order. */
  calls: string[];
}

type Change =
  | { kind: "seen" }
  | { kind: "content"; content: string | null; generator: "agent" | "tool" }
  | { kind: "edit"; oldString: string; newString: string; replaceAll: boolean }
  | { kind: "deleted" };

/** The files that calls touched, in the order of their first touch. Unchanged content makes no new version. */
export function filesOf(calls: readonly Call[]): TouchedFile[] {
  const files = new Map<string, TouchedFile>();
  const answered = calls.filter(({ result }) => result && !result.isError);
  for (const call of answered.sort((a, b) => (a.resultN ?? 0) - (b.resultN ?? 0))) {
    for (const { host, path, change } of touchesOf(call)) {
      const id = `file:${host}:${path}`;
      const file = files.get(id) ?? { id, host, path, versions: [], calls: [] };
      files.set(id, file);
      file.calls.push(call.id);
      addVersion(file, call, change);
    }
  }
  return [...files.values()];
}

function addVersion(file: TouchedFile, call: Call, change: Change): void {
  const last = file.versions.at(-1);
  if (change.kind === "seen" && last) return;
  const content = contentAfter(last, change);
  const deleted = change.kind === "deleted";
  if (last && last.content === content && last.deleted === deleted && content !== null) return;
  file.versions.push({
    version_no: file.versions.length + 1,
    n: call.resultN ?? call.n,
    at: call.result?.timestamp ?? call.at,
    call: call.id,
    generator: change.kind === "content" ? change.generator : change.kind === "seen" ? "tool" : "agent",
    content,
    deleted,
  });
}

/** Applies an edit to the known text. Without known text, the result is unknown. */
function contentAfter(last: FileVersion | undefined, change: Change): string | null {
  if (change.kind === "content") return change.content;
  if (change.kind !== "edit" || typeof last?.content !== "string") return null;
  const parts = last.content.split(change.oldString);
  if (parts.length === 1) return null;
  if (change.replaceAll) return parts.join(change.newString);
  const [first = "", ...rest] = parts;
  return `${first}${change.newString}${rest.join(change.oldString)}`;
}

/** A version of a file as an object. */
export function fileObject(file: TouchedFile, version: FileVersion): FileObject {
  const { content, deleted, version_no, at, call, generator } = version;
  return withHashes({
    id: file.id,
    type: "file",
    content,
    locked: false,
    provenance: { origin: file.host, generator, parent_refs: [call] },
    version_no,
    at,
    path: deleted ? null : file.path,
    file_type: fileType(file.path),
    char_count: content?.length ?? 0,
  });
}

/** The extension of a file name without the dot; `text` if it has none. */
export function fileType(path: string): string {
  return /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? "text";
}

interface Touch {
  host: string;
  path: string;
  change: Change;
}

/** What a call did to files, by its tool, its arguments and its result. */
function touchesOf(call: Call): Touch[] {
  const [, host = "", tool = ""] = /^([^_].*?)__(.+)$/.exec(call.block?.name ?? "") ?? [];
  const args = recordOf(call.block?.arguments);
  const result = recordOf(parsed((call.result && resultText(call.result)) ?? ""));
  if (host === "gsv") return workspaceTouches(tool, args, recordOf(result.result));
  return nodeTouches(host, tool, args, result, call);
}

function workspaceTouches(tool: string, args: Fields, result: Fields): Touch[] {
  const host = "gsv";
  const path = typeof result.path === "string" ? result.path : "";
  const change = workspaceChange(tool, args, result);
  if (change) return path === "" ? [] : [{ host, path, change }];
  if (tool !== "ReadFile" || !Array.isArray(result.files)) return [];
  return result.files.filter(isText).map((file) => ({ host, path: file, change: { kind: "seen" } }));
}

function workspaceChange(tool: string, args: Fields, result: Fields): Change | undefined {
  if (tool === "ReadFile" && isText(result.content))
    return { kind: "content", content: result.content, generator: "tool" };
  if (tool === "WriteFile" && isText(args.content))
    return { kind: "content", content: args.content, generator: "agent" };
  if (tool === "DeleteFile") return { kind: "deleted" };
  return tool === "EditFile" ? editOf(args) : undefined;
}

function nodeTouches(host: string, tool: string, args: Fields, result: Fields, call: Call): Touch[] {
  if (tool === "Glob" || tool === "Grep")
    return foundPaths(tool, args, result).map((path) => seen(host, path));
  const path = isText(result.path) ? result.path : isText(args.path) ? args.path : undefined;
  if (path === undefined) return [];
  if (tool === "Write" && isText(args.content))
    return [{ host, path, change: { kind: "content", content: args.content, generator: "agent" } }];
  const edit = tool === "Edit" ? editOf(args) : undefined;
  if (edit) return [{ host, path, change: edit }];
  if (tool !== "Read") return [];
  const isImage = call.result?.content.some(({ type }) => type === "image");
  if (isImage) return [{ host, path, change: { kind: "content", content: null, generator: "tool" } }];
  // A node counts all lines of a file only after it has shown its end.
  if (!isText(result.content) || result.lines !== result.totalLines) return [seen(host, path)];
  // A node numbers each line, with a tab after the number.
  const content = result.content.replace(/^\d+\t/gm, "");
  return [{ host, path, change: { kind: "content", content, generator: "tool" } }];
}

function seen(host: string, path: string): Touch {
  return { host, path, change: { kind: "seen" } };
}

/**
 * The absolute paths that a search found. A path relative to the node's workspace can be resolved only if the search began
 * there.
 */
function foundPaths(tool: string, args: Fields, result: Fields): string[] {
  const matches: unknown[] = Array.isArray(result.matches) ? result.matches : [];
  const paths = matches.map((match) => (tool === "Grep" ? recordOf(match).path : match)).filter(isText);
  const fromWorkspace =
    isText(result.basePath) && args.path === undefined && /^[*?[{]/.test(String(args.pattern));
  const absolute = paths.flatMap((path) => {
    if (path.startsWith("/")) return [path];
    return fromWorkspace ? [`${result.basePath}/${path}`] : [];
  });
  return [...new Set(absolute)];
}

function editOf({ oldString, newString, replaceAll }: Fields): Change | undefined {
  if (!isText(oldString) || !isText(newString)) return undefined;
  return { kind: "edit", oldString, newString, replaceAll: replaceAll === true };
}

type Fields = Partial<Record<string, unknown>>;

function recordOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
