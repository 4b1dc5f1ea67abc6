import type { Bucket, Table } from "../world/world.ts";
import {
  type Conversation,
  conversationsOf,
  type ReadPart,
  type ReadRequest,
  readConversation,
} from "./conversations.ts";
import { type FoundTurn, findTurns } from "./find-turns.ts";
import { createSaidTurns, type RecallScope } from "./said-turns.ts";
import { deleteSegment, writeSegment } from "./segment-files.ts";

/** Looks into everything that was said to and by an agent. Keep one while a function is warm: it keeps what it has read. */
export interface Recall {
  /** Finds what was said about something: see `findTurns`. `preview`: characters of a message that are shown. */
  search(
    scope: RecallScope,
    request: { question: string; limit: number; preview: number },
  ): Promise<Waiting & { found: FoundTurn[] }>;
  /** The conversations in which something was said, the latest first. */
  conversations(scope: RecallScope): Promise<Waiting & { conversations: Conversation[] }>;
  /** Reads a conversation, without what an archive that waits holds. Undefined when there is none in this scope. */
  read(scope: RecallScope, request: ReadRequest): Promise<ReadPart | undefined>;
  /** Makes an archive searchable. Safe to repeat; a search makes up for one that was left out. */
  keep(archiveKey: string): Promise<void>;
  /** Forgets an archive that is about to be deleted. */
  drop(archiveKey: string): Promise<void>;
}

/** Archives that could not be looked into yet. Asking again goes on with them. */
export interface Waiting {
  waiting: number;
}

export function openRecall(store: { table: Table; bucket: Bucket }): Recall {
  const open = createSaidTurns(store);
  return {
    async search(scope, { question, limit, preview }) {
      const said = await open(scope);
      return { found: findTurns(said, question, limit, preview), waiting: said.waiting };
    },
    async conversations(scope) {
      const said = await open(scope);
      return { conversations: conversationsOf(said), waiting: said.waiting };
    },
    async read(scope, request) {
      return readConversation(await open(scope), request);
    },
    keep: (archiveKey) => writeSegment(store.bucket, archiveKey),
    drop: (archiveKey) => deleteSegment(store.bucket, archiveKey),
  };
}
