import type { Memory } from "../../../shared/protocol/memory-schemas.ts";
import type { PageConnection } from "../../wire/page-connection.ts";

/** A change of the memories that was made. */
export interface Change {
  /** What happened, for the reader. */
  text: string;
  undo?: () => Promise<Change>;
}

/** Memories of one agent; the default agent's when undefined. */
export interface MemoryOwner {
  connection: Pick<PageConnection, "request">;
  agentId: string | undefined;
}

/** Replaces a memory's text. The undo restores the old line, and forgets the new one unless it was known before. */
export async function correctMemory(
  { connection, agentId }: MemoryOwner,
  { id }: Memory,
  text: string,
): Promise<Change> {
  const { by, files } = await connection.request("memory.correct", { agentId, id, text });
  const isNew = by.places.length === 1 && !by.record?.others?.length;
  const undo = async () => {
    await connection.request("memory.allow", { agentId, id });
    if (isNew) await connection.request("memory.forget", { agentId, id: by.id });
    return { text: "The old line is back." };
  };
  return { text: `Corrected. The old line is struck out in ${files.join(", ")}.`, undo };
}

/**
 * Removes a memory from every file; with `everywhere` also from the history and stored prompts. The undo notes a current line
 * again as the user's words; there is none with `everywhere`.
 */
export async function forgetMemory(
  { connection, agentId }: MemoryOwner,
  { id, text, record, ended }: Memory,
  everywhere: boolean,
): Promise<Change> {
  const params = { agentId, id, ...(everywhere ? { everywhere } : {}) };
  const { files, commits = 0, copies = 0 } = await connection.request("memory.forget", params);
  const removed = files.length > 0 ? `Removed from ${files.join(", ")}` : "It was in no file";
  if (everywhere)
    return {
      text: `${removed}, ${commits} commits and ${copies} prompts and search files. Nothing has it now.`,
    };
  const undo = async () => {
    await connection.request("memory.add", { agentId, text, ...(record ? { type: record.type } : {}) });
    return { text: "Noted again, in today's notes." };
  };
  // The undo would make a line current again that had ended.
  return { text: `Forgotten. ${removed}.`, ...(ended === undefined ? { undo } : {}) };
}

/** Lets a memory that was forgotten, replaced or ended return. */
export async function allowMemory({ connection, agentId }: MemoryOwner, id: string): Promise<Change> {
  const { files = [] } = await connection.request("memory.allow", { agentId, id });
  if (files.length > 0) return { text: `Restored in ${files.join(", ")}.` };
  return { text: "Allowed. It returns when a conversation says it again." };
}
