import { fileType } from "../objects/file.ts";
import { contentHash, metadataView, sha256 } from "../objects/hash.ts";
import { resultText } from "../objects/toolcall.ts";
import type { ActivatedObject, ArchivedCall } from "../protocol/context-objects.ts";
import type { ContextEntry, ContextResult } from "../protocol/session-results.ts";
import { type ContextCall, isContextTool, titleOf } from "./context-calls.ts";
import { activeIds, type ContextView } from "./view.ts";

/** SHA-256, in hex, of the ids of the objects whose content a model sees: without duplicates, sorted, joined by line feeds. */
export function activeSetHash(ids: Iterable<string>): string {
  return sha256([...new Set(ids)].sort().join("\n"));
}

type Objects = Pick<
  ContextResult,
  "rendering" | "entries" | "more" | "active" | "inactive" | "pinned" | "active_hash"
>;

/**
 * The objects of a conversation for clients.
 * @param tokensPerCharacter measured or estimated
 */
export function contextEntries(view: ContextView, tokensPerCharacter: number): Objects {
  const seen = activeIds(view);
  const isActive = (id: string) => seen.includes(id);
  const isPinned = (id: string) => view.activation.on.get(id)?.pinned === true;
  const known = new Set(view.archived.map(({ id }) => id));
  const entries = [
    ...view.archived.map(archivedEntry),
    // Activated objects that are in no list: an older archived call, or a file.
    ...view.extras.filter(({ source, id }) => source.kind === "archive" && !known.has(id)).map(unlistedEntry),
    ...view.calls.filter(({ tool }) => !isContextTool(tool)).map(liveEntry),
    ...[...view.activation.on.values()].flatMap(fileEntry),
  ].map((entry) => ({
    ...entry,
    ...(entry.characters === undefined ? {} : { tokens: Math.ceil(entry.characters * tokensPerCharacter) }),
    active: isActive(entry.id),
    pinned: isPinned(entry.id),
  }));
  const idsOf = (kept: readonly ContextEntry[]) => kept.map(({ id }) => id);
  return {
    rendering: view.settings.rendering,
    entries,
    more: view.more,
    active: idsOf(entries.filter(({ active }) => active)),
    inactive: idsOf(entries.filter(({ active }) => !active)),
    pinned: idsOf(entries.filter(({ pinned }) => pinned)),
    active_hash: activeSetHash(seen),
  };
}

type Entry = Omit<ContextEntry, "active" | "pinned" | "tokens">;

function callEntry(fields: Pick<ArchivedCall, "id" | "tool" | "args_display" | "status">): Entry {
  const seen = { ...fields, type: "toolcall" } as const;
  return { ...seen, metadata_view_hash: sha256(metadataView(seen)) };
}

function archivedEntry({ id, providerId, tool, args_display, status, characters }: ArchivedCall): Entry {
  return {
    ...callEntry({ id, tool, args_display, status }),
    ...(providerId === undefined ? {} : { provider_id: providerId }),
    ...(characters === undefined ? {} : { characters }),
    archived: true,
  };
}

function unlistedEntry({ id, title, characters }: ActivatedObject): Entry {
  const tool = title.split(":", 1)[0] ?? "";
  return { ...callEntry({ id, tool, args_display: title, status: "ok" }), characters, archived: true };
}

function liveEntry(call: ContextCall): Entry {
  const { id, tool, status, providerId, characters, result } = call;
  return {
    ...callEntry({ id, tool, args_display: titleOf(call), status }),
    ...(providerId === undefined ? {} : { provider_id: providerId }),
    ...(characters === undefined ? {} : { characters }),
    content_hash: contentHash(resultText(result)),
  };
}

function fileEntry({ id, source, characters }: ActivatedObject): Entry[] {
  if (source.kind !== "file") return [];
  const { path, hash } = source;
  const seen = { id, type: "file", path, file_type: fileType(path), char_count: characters } as const;
  return [
    {
      ...{ id, type: "file", path, characters },
      ...(hash === undefined ? {} : { content_hash: hash }),
      metadata_view_hash: sha256(metadataView(seen)),
    },
  ];
}
