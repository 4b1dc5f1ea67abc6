import { readDream } from "../../../shared/dreaming/dream-state.ts";
import { dreamSettings } from "../../../shared/dreaming/plan-dream.ts";
import type { Memories, MemoryUse } from "../../../shared/memory/memories.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { DreamResults, MemoryResults, MemorySource } from "../../../shared/protocol/memory-schemas.ts";
import { lastExtraction } from "../../../shared/session/extraction.ts";
import type { Gateway, MethodTable } from "../gateway.ts";
import { agentOf } from "./workspace.ts";

/** Max messages that `memory.why` returns, and the characters of each. */
const sources = { max: 3, characters: 300 };

/** Clients act for the owner, so they may read and write all memories. */
export const memoryMethods: Pick<MethodTable, keyof MemoryResults> = {
  "memory.list": {
    modes: ["client", "mcp"],
    async handle(gateway, { agentId: named, query = "", limit, forgotten }) {
      const { memories, use } = await open(gateway, named);
      if (forgotten) {
        const tombs = (await memories.ledger.tombs(use.agentId)).slice(0, limit);
        return { agentId: use.agentId, memories: [], count: tombs.length, forgotten: tombs };
      }
      const [found, extraction] = await Promise.all([
        memories.recall(use, query, limit),
        lastExtraction(gateway.table, use.agentId),
      ]);
      const listed = found.map(({ id, text, places, record, ended }) => ({
        ...{ id, text, places },
        ...(record && { record }),
        ...(ended && { ended }),
      }));
      const last = extraction ? { extraction } : {};
      return { agentId: use.agentId, memories: listed, count: listed.length, ...last };
    },
  },
  "memory.why": {
    modes: ["client"],
    async handle(gateway, { agentId: named, id }) {
      const { memories, use } = await open(gateway, named);
      const memory = await memories.read(use, id);
      return { memory, sources: await sourcesOf(gateway, use, memory) };
    },
  },
  "memory.add": {
    modes: ["client"],
    async handle(gateway, { agentId: named, text, type }) {
      const { memories, use } = await open(gateway, named);
      return { memory: await memories.remember(use, text, { ...ofClient, ...(type ? { type } : {}) }) };
    },
  },
  "memory.forget": {
    modes: ["client"],
    async handle(gateway, { agentId: named, id, everywhere }) {
      const { memories, use } = await open(gateway, named);
      if (!everywhere) return { id, files: await memories.forget(use, id) };
      return { id, ...(await forgetEverywhere(gateway, memories, use, id)) };
    },
  },
  "memory.correct": {
    modes: ["client"],
    async handle(gateway, { agentId: named, id, text }) {
      const { memories, use } = await open(gateway, named);
      return { id, ...(await memories.supersede(use, id, text, ofClient)) };
    },
  },
  "memory.allow": {
    modes: ["client"],
    async handle(gateway, { agentId: named, id }) {
      const { memories, use } = await open(gateway, named);
      const files = await memories.allow(use.agentId, id);
      if (files) return { id, files };
      throw new PeerError(
        code.notFound,
        `no memory ${id} of the agent ${use.agentId} was forgotten or replaced; \`gsv memory list --forgotten\` shows those that were`,
      );
    },
  },
};

/** A client's text counts as the owner's, as in the main conversation. */
const ofClient = { kind: "main", by: "client" } as const;

/** A shorter text may be part of other sentences: then only lines of its own are erased. Characters. */
const minTelling = 20;

/** Forgets a memory also in the history, and in the copies that prompts and searches have. */
async function forgetEverywhere(
  gateway: Gateway,
  memories: Memories,
  use: MemoryUse,
  id: string,
): Promise<Omit<MemoryResults["memory.forget"], "id">> {
  const { agentId } = use;
  const [{ eraseFromHistory }, { eraseFromDerived, eraseFromPrompts }] = await Promise.all([
    import("../../../shared/git/erase-line.ts"),
    import("../memory-erasure.ts"),
  ]);
  // A memory may have been forgotten before: then only its id is known, which finds it as a line of its own.
  const known = await memories.read(use, id).catch(unlessNotFound);
  const withoutLine = (content: string) => memories.without(content, id);
  const isTelling = known !== undefined && known.text.length >= minTelling;
  const without = (text: string) => withoutLine(isTelling ? text.replaceAll(known.text, "") : text);
  // What needs the text comes before the files, from which a repeat would read it.
  const derived = await eraseFromDerived(gateway, { agentId, id, without });
  const files = known ? await memories.forget(use, id).catch(unlessNotFound) : undefined;
  const commits = await eraseFromHistory(gateway.bucket, agentId, withoutLine);
  const prompts = await eraseFromPrompts(gateway, agentId, withoutLine);
  if (!known && derived + commits + prompts === 0) await memories.read(use, id);
  return { files: files ?? [], commits, copies: derived + prompts };
}

function unlessNotFound(error: unknown): undefined {
  if (error instanceof PeerError && error.code === code.notFound) return undefined;
  throw error;
}

async function open(gateway: Gateway, named: string | undefined) {
  const [agentId, configuration, memories] = await Promise.all([
    agentOf(gateway, named),
    gateway.configuration.load(),
    gateway.memories(),
  ]);
  const use = {
    agentId,
    audience: "main",
    now: gateway.now(),
    timezone: configuration.userTimezone,
  } as const;
  return { memories, use };
}

/** The messages that match a memory best, in the conversation that it came from, including its archives. */
async function sourcesOf(
  gateway: Gateway,
  { agentId, timezone }: { agentId: string; timezone: string },
  { text, record }: MemoryResults["memory.why"]["memory"],
): Promise<MemorySource[]> {
  if (record?.sessionKey === undefined) return [];
  const recall = await gateway.recall();
  const scope = { agentId, sessionKey: record.sessionKey, all: false, timezone };
  const request = { question: text, limit: 50, preview: sources.characters };
  const { found } = await recall.search(scope, request);
  return found
    .filter(({ turn }) => record.sessionId === undefined || turn.conversation.sessionId === record.sessionId)
    .filter(({ turn }) => turn.ts <= record.at)
    .slice(0, sources.max)
    .map(({ turn, preview }) => ({
      ...turn.conversation,
      message: turn.n,
      at: turn.ts,
      role: turn.role,
      text: preview.text,
    }));
}

/** Max memories in one answer. */
const maxVerdicts = 200;

/** Dreaming reads and writes MEMORY.md. Clients may start it, because they act for the owner. */
export const dreamMethods: Pick<MethodTable, keyof DreamResults> = {
  "memory.dream": {
    modes: ["client"],
    async handle(gateway, { agentId: named, dryRun = false }) {
      const [agentId, configuration, memories] = await Promise.all([
        agentOf(gateway, named),
        gateway.configuration.load({ fresh: true }),
        gateway.memories(),
      ]);
      if (!dryRun && !dreamSettings(configuration, agentId).enabled)
        throw new PeerError(
          code.badRequest,
          `dreaming is off for the agent ${agentId}; set dreaming.enabled to true, from then on its recalls are counted`,
        );
      const run = { agentId, configuration, now: gateway.now() };
      const dreaming = { ...gateway, memories };
      const { previewSweep, sweepMemories } = await import("../../../shared/dreaming/dream-sweep.ts");
      const outcome = await (dryRun ? previewSweep(dreaming, run) : sweepMemories(dreaming, run));
      if (!outcome) return { agentId, dryRun: false, busy: true };
      const verdicts = outcome.verdicts.slice(0, maxVerdicts);
      return { agentId, dryRun, busy: false, sweep: outcome.summary, verdicts };
    },
  },
  "memory.dreaming": {
    modes: ["client"],
    async handle(gateway, { agentId: named }) {
      const agentId = await agentOf(gateway, named);
      const [configuration, { nextAt, last, sweep }] = await Promise.all([
        gateway.configuration.load({ fresh: true }),
        readDream(gateway.table, agentId),
      ]);
      const { enabled, intervalSecs } = dreamSettings(configuration, agentId);
      return {
        agentId,
        enabled,
        intervalSecs,
        ...(enabled && nextAt !== undefined ? { nextAt } : {}),
        ...(last ? { last } : {}),
        ...(sweep ? { unfinishedAt: sweep.at } : {}),
      };
    },
  },
};
