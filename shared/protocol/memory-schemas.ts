import * as v from "valibot";
import { count, idField } from "./schemas.ts";

/** What a memory is about; dreaming lets each fade at its own pace. `project` where nobody has said. */
export const memoryTypes = ["user", "feedback", "project", "reference"] as const;
export type MemoryType = (typeof memoryTypes)[number];

const agentId = v.optional(idField);

export const memoryIdField = v.pipe(
  v.string(),
  v.regex(/^[0-9a-f]{16}$/, "expected the 16 hex digits of a memory"),
);
/** A memory is one line. */
export const memoryTextField = v.pipe(v.string(), v.trim(), v.minLength(3), v.maxLength(2000));

/** Where a memory came from. It stands beside the file, where whoever may write the file cannot change it. */
export interface MemoryRecord {
  id: string;
  /** The session in which it was said, and the conversation of it; absent for what a client has written. */
  sessionKey?: string;
  sessionId?: string;
  /** The kind of that session. */
  kind: string;
  /** Epoch ms. */
  at: number;
  /** Who has written it down: the agent as it was told to, a reset or compaction, or a client. */
  by: "agent" | "extraction" | "client";
  type: MemoryType;
  /** The memory that has taken its place. */
  supersededBy?: string;
  /** When dreaming has promoted it into MEMORY.md, epoch ms, and with which score. */
  promoted?: { at: number; score: number };
}

/** A memory with where it stands. */
export interface Memory {
  id: string;
  text: string;
  /** The files that hold it, each with the number of the line. */
  places: { path: string; line: number }[];
  record?: MemoryRecord;
}

/** A message in which a memory may have been said. */
export interface MemorySource {
  sessionKey: string;
  sessionId: string;
  message: number;
  at: number;
  role: "user" | "assistant" | "tool";
  text: string;
}

/** Results of the methods of memories. */
export interface MemoryResults {
  "memory.list": { agentId: string; memories: Memory[]; count: number };
  "memory.why": { memory: Memory; sources: MemorySource[] };
  "memory.add": { memory: Memory };
  /** `files`: those that held it. `commits`: how many commits of the history were written anew without it. */
  "memory.forget": { id: string; files: string[]; commits?: number };
  "memory.correct": { id: string; by: Memory; files: string[] };
}

/** Params of the methods of memories. */
export const memoryParams = {
  "memory.list": v.optional(
    v.object({
      agentId,
      query: v.optional(v.pipe(v.string(), v.maxLength(2000))),
      limit: v.optional(count(1, 1000), 100),
    }),
    { limit: 100 },
  ),
  "memory.why": v.object({ agentId, id: memoryIdField }),
  "memory.add": v.object({ agentId, text: memoryTextField, type: v.optional(v.picklist(memoryTypes)) }),
  "memory.forget": v.object({ agentId, id: memoryIdField, everywhere: v.optional(v.boolean()) }),
  "memory.correct": v.object({ agentId, id: memoryIdField, text: memoryTextField }),
};

/** What a sweep decided, or would decide, on one memory that was recalled. */
export interface DreamVerdict {
  id: string;
  /** Empty when the memory holds a secret. */
  text: string;
  /** 0 to 0.94 with the usual weights. */
  score: number;
  /** How often it was recalled, by how many questions, on how many days. */
  hits: number;
  queries: number;
  days: number;
  promoted: boolean;
  /** Why it was not promoted. */
  reason?: string;
}

/** What a sweep came to. Times are epoch ms. */
export interface DreamSummary {
  at: number;
  /** Memories that were recalled in the last 90 days. */
  candidates: number;
  promoted: number;
  /** Were promoted by an earlier sweep. */
  alreadyPromoted: number;
  /** Were kept out because they hold a secret. */
  secrets: number;
  /** Lowest and highest score of what was promoted. */
  scores?: [number, number];
  /** The commit of the workspace that holds it; absent without a history. */
  commit?: string;
  /** Why MEMORY.md could not be changed. Nothing was promoted then. */
  refused?: string;
}

/** Results of the methods of dreaming. */
export interface DreamResults {
  /** `verdicts`: at most 200, the highest scores first. `busy`: another sweep of the agent is at it; nothing was done. */
  "memory.dream":
    | { agentId: string; dryRun: boolean; busy: false; sweep: DreamSummary; verdicts: DreamVerdict[] }
    | { agentId: string; dryRun: false; busy: true };
  "memory.dreaming": {
    agentId: string;
    enabled: boolean;
    intervalSecs: number;
    /** When the next sweep comes; absent until something was recalled. */
    nextAt?: number;
    /** The last sweep that was completed. */
    last?: DreamSummary;
    /** A sweep that was begun, and is gone on with when its lease ends. */
    unfinishedAt?: number;
  };
}

/** Params of the methods of dreaming. */
export const dreamParams = {
  "memory.dream": v.optional(v.object({ agentId, dryRun: v.optional(v.boolean()) }), {}),
  "memory.dreaming": v.optional(v.object({ agentId }), {}),
};
