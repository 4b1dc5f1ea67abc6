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
import type { FindEmbedder } from "./vectors/embedder.ts";
import { createNearTurns } from "./vectors/near-turns.ts";

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

/** @param findEmbedder what makes vectors, by which a search also finds what says the same in other words */
export function openRecall(
  store: { table: Table; bucket: Bucket },
  findEmbedder: FindEmbedder = async () => undefined,
): Recall {
  const open = createSaidTurns(store);
  const near = createNearTurns(store.bucket, findEmbedder);
  return {
    async search(scope, { question, limit, preview }) {
      const [said, asked] = await Promise.all([open(scope), near.ask(question)]);
      const nearest = asked ? await near.find(asked, said) : [];
      return { found: findTurns(said, question, limit, preview, nearest), waiting: said.waiting };
    },
    async conversations(scope) {
      const said = await open(scope);
      return { conversations: conversationsOf(said), waiting: said.waiting };
    },
    async read(scope, request) {
      return readConversation(await open(scope), request);
    },
    async keep(archiveKey) {
      await writeSegment(store.bucket, archiveKey);
      await near.keep(archiveKey);
    },
    drop: (archiveKey) => deleteSegment(store.bucket, archiveKey),
  };
}
