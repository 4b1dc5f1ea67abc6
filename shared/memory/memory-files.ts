import type { Origins } from "../origins/origins.ts";
import { removeNotes, type Segments } from "../recall/segments.ts";
import { createCachedReader } from "../workspace/cached-reader.ts";
import { type Audience, isVisible } from "../workspace/privacy.ts";
import type { Workspace } from "../workspace/workspace-files.ts";
import { promptFiles, workspacePrefix } from "../workspace/workspace-paths.ts";
import { inGroups } from "../world/in-groups.ts";
import type { Bucket, ListedObject } from "../world/world.ts";
import {
  type MemoryLine,
  readAllMemories,
  readMemories,
  readMemoriesWithEnded,
  withMemory,
  withMemoryRestored,
  withMemoryStruck,
  withoutMemory,
} from "./memory-line.ts";
import { fillNotes } from "./stored-notes.ts";

/** The diary of dreams, which lists promotions. Its lines are not memories themselves. */
const diaryPath = "DREAMS.md";

/** The files with an agent's memories: MEMORY.md, USER.md and the daily notes. Create one per warm function: it caches. */
export interface MemoryFiles {
  /**
   * Every memory that a session may see: MEMORY.md's first, then USER.md's, then the newest day's. A memory in several files occurs once for
   * each.
   */
  list(agentId: string, audience: Audience): Promise<MemoryLine[]>;
  /** As `list`, with the memories that have ended or were replaced. */
  listWithEnded(agentId: string, audience: Audience): Promise<MemoryLine[]>;
  /** The memories of one file; none when it is missing. */
  read(agentId: string, path: string): Promise<MemoryLine[]>;
  /**
   * The places of a memory that a session may see, including struck-out ones, notes of conversations with guests and groups,
   * and the diary of dreams.
   */
  find(agentId: string, audience: Audience, id: string): Promise<MemoryLine[]>;
  /** Adds a memory to a file, unless the file contains it. `origins`: whose words the writer had read, besides the owner's. */
  add(agentId: string, path: string, text: string, origins?: Origins): Promise<void>;
  /** Removes a memory from every file in which `find` finds it for the owner. @returns the files that contained it */
  remove(agentId: string, id: string): Promise<string[]>;
  /** Removes memories from one file, except where they are struck out. */
  removeFrom(agentId: string, path: string, ids: readonly string[]): Promise<void>;
  /** Strikes a memory out in every file. @param until the month, `YYYY-MM`  @returns the files that contained it */
  strike(agentId: string, id: string, until: string): Promise<string[]>;
  /** Undoes `strike`. @returns the files in which it was struck out */
  restore(agentId: string, id: string): Promise<string[]>;
}

function withOrigins(lines: MemoryLine[], origins: Origins): MemoryLine[] {
  return origins.length === 0 ? lines : lines.map((line) => ({ ...line, origins }));
}

/** The files with memories: MEMORY.md, USER.md, the notes from the newest on. @param isAll also those of guests and groups */
async function listFiles(bucket: Bucket, prefix: string, isAll: boolean): Promise<ListedObject[]> {
  const [longTerm, owner, notes] = await Promise.all([
    bucket.list(prefix + promptFiles.memory),
    bucket.list(prefix + promptFiles.user),
    bucket.list(`${prefix}memory/`, isAll ? undefined : "/"),
  ]);
  const [first, second] = [longTerm.objects.slice(0, 1), owner.objects.slice(0, 1)];
  return [...first, ...second, ...notes.objects.toReversed()].filter(({ key }) => key.endsWith(".md"));
}

export function openMemoryFiles(bucket: Bucket, workspace: Workspace, segments: Segments): MemoryFiles {
  const reader = createCachedReader(bucket, { maxEntries: 2000, maxCharacters: 20_000_000 });
  const linesOf = async (agentId: string, audience: Audience, readLines = readMemories) => {
    const prefix = workspacePrefix(agentId);
    const read = async ({ key, etag }: ListedObject) => {
      const content = await reader.readListed(key, etag);
      const lines = readLines(key.slice(prefix.length), content ?? "");
      return withOrigins(lines, reader.originsOf(key));
    };
    const listed = await listFiles(bucket, prefix, readLines === readAllMemories);
    const files = listed.filter(({ key }) => isVisible(audience, key.slice(prefix.length)));
    await fillNotes({ bucket, segments }, reader, agentId, files);
    return (await inGroups(files, read)).flat();
  };
  const list = (agentId: string, audience: Audience) => linesOf(agentId, audience);
  const readOne = async (agentId: string, path: string, readLines = readMemories) => {
    const key = workspacePrefix(agentId) + path;
    return withOrigins(readLines(path, (await reader.read(key, 0)) ?? ""), reader.originsOf(key));
  };
  const diary = async (agentId: string, audience: Audience) =>
    isVisible(audience, diaryPath) ? readOne(agentId, diaryPath, readAllMemories) : [];
  const find = async (agentId: string, audience: Audience, id: string) => {
    const all = await Promise.all([linesOf(agentId, audience, readAllMemories), diary(agentId, audience)]);
    return all.flat().filter((memory) => memory.id === id);
  };
  const changeAll = async (
    agentId: string,
    holding: readonly MemoryLine[],
    change: (content: string) => string,
  ) => {
    const paths = [...new Set(holding.map(({ path }) => path))];
    for (const path of paths) await workspace.change(agentId, path, (content = "") => change(content));
    await removeNotes(segments, agentId, paths);
    return paths;
  };
  return {
    list,
    listWithEnded: (agentId, audience) => linesOf(agentId, audience, readMemoriesWithEnded),
    read: (agentId, path) => readOne(agentId, path),
    find,
    async add(agentId, path, text, origins) {
      await workspace.change(agentId, path, (content = "") => withMemory(content, text), origins);
    },
    remove: async (agentId, id) =>
      changeAll(agentId, await find(agentId, "main", id), (content) => withoutMemory(content, id)),
    async removeFrom(agentId, path, ids) {
      const without = (content = "") => ids.reduce((left, id) => withoutMemory(left, id, true), content);
      await workspace.change(agentId, path, without);
      await removeNotes(segments, agentId, [path]);
    },
    async strike(agentId, id, until) {
      const all = await Promise.all([list(agentId, "main"), readOne(agentId, diaryPath)]);
      const holding = all.flat().filter((memory) => memory.id === id);
      return changeAll(agentId, holding, (content) => withMemoryStruck(content, id, until));
    },
    async restore(agentId, id) {
      const struck = (await find(agentId, "main", id)).filter(({ isStruck }) => isStruck);
      return changeAll(agentId, struck, (content) => withMemoryRestored(content, id));
    },
  };
}
