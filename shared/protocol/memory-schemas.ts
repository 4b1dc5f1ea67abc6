import * as v from "valibot";
import { count, idField } from "./schemas.ts";

/** The type of a memory, which sets how fast dreaming lets it fade. `project` when no type was given. */
export const memoryTypes = ["user", "feedback", "project", "reference"] as const;
export type MemoryType = (typeof memoryTypes)[number];

const agentId = v.optional(idField);

export const memoryIdField = v.pipe(
  v.string(),
  v.regex(/^[0-9a-f]{16}$/, "expected the 16 hex digits of a memory"),
);
/** A memory is one line. */
export const memoryTextField = v.pipe(v.string(), v.trim(), v.minLength(3), v.maxLength(2000));

/** One origin of a memory. */
export interface RecordedOrigin {
  /** The session and conversation in which it was said; absent for a memory that a client wrote. */
  sessionKey?: string;
  sessionId?: string;
  /** The kind of that session; `mixed` when others than the owner had spoken in it. */
  kind: string;
  /** Epoch ms. */
  at: number;
  /** The writer: the agent on request (`agent`), a reset or compaction (`extraction`), or a client. */
  by: "agent" | "extraction" | "client";
  /** Whose words the writer had read, besides the owner's. Absent: of an earlier version. */
  origins?: string[];
}

/**
 * The best origin of a memory, and the others. They are stored apart from the memory file, so that a writer of the file cannot
 * change them.
 */
export interface MemoryRecord extends RecordedOrigin {
  id: string;
  type: MemoryType;
  others?: RecordedOrigin[];
  /** The memory that replaced it. */
  supersededBy?: string;
  /** When dreaming has promoted it into MEMORY.md, epoch ms, and with which score. */
  promoted?: { at: number; score: number };
}

/** A memory and the places where it is stored. */
export interface Memory {
  id: string;
  text: string;
  /** The files that hold it, each with the number of the line. */
  places: { path: string; line: number }[];
  record?: MemoryRecord;
  /** The month in which it ended or was replaced, `YYYY-MM`: it is struck out in its files. */
  ended?: string;
}

/** What is known of a forgotten or corrected memory: nothing of its text. Times are epoch ms. */
export interface ForgottenMemory {
  id: string;
  /** When it was forgotten or corrected. */
  at: number;
  /** Another memory replaced it: only the same text is kept out. */
  isCorrected: boolean;
  /** The conversation whose extraction last repeated it, so that it was left out. */
  suppressed?: { at: number; sessionKey: string; sessionId: string };
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

/** `pending`: it is in progress, or tried again after a failure. `stopped`: by the user. */
export type ExtractionState = "pending" | "done" | "failed" | "stopped";

/** The extraction of memories after a reset. An extension of GSV's protocol. */
export interface LastExtraction {
  state: ExtractionState;
  sessionKey: string;
  /** When its conversation was reset, epoch ms. */
  at: number;
  /** Number of recorded memories. */
  count?: number;
  /** Why it, or its last attempt, failed. */
  reason?: string;
  /** The time of the next attempt, epoch ms. */
  nextAt?: number;
}

/** Results of the methods of memories. */
export interface MemoryResults {
  /** `forgotten`: on request, instead of `memories`. */
  "memory.list": {
    agentId: string;
    memories: Memory[];
    count: number;
    extraction?: LastExtraction;
    forgotten?: ForgottenMemory[];
  };
  "memory.why": { memory: Memory; sources: MemorySource[] };
  "memory.add": { memory: Memory };
  /** `files`: those that contained it. `commits`: number of commits of the history that were rewritten without it. */
  /** With `everywhere`: the number of rewritten commits, and of changed or deleted prompts, segments and items. */
  "memory.forget": { id: string; files: string[]; commits?: number; copies?: number };
  "memory.correct": { id: string; by: Memory; files: string[] };
  /** `files`: those in which it was struck out, until now. */
  "memory.allow": { id: string; files?: string[] };
}

/** Params of the methods of memories. */
export const memoryParams = {
  "memory.list": v.optional(
    v.object({
      agentId,
      query: v.optional(v.pipe(v.string(), v.maxLength(2000))),
      limit: v.optional(count(1, 1000), 100),
      forgotten: v.optional(v.boolean()),
    }),
    { limit: 100 },
  ),
  "memory.why": v.object({ agentId, id: memoryIdField }),
  "memory.add": v.object({ agentId, text: memoryTextField, type: v.optional(v.picklist(memoryTypes)) }),
  "memory.forget": v.object({ agentId, id: memoryIdField, everywhere: v.optional(v.boolean()) }),
  "memory.correct": v.object({ agentId, id: memoryIdField, text: memoryTextField }),
  "memory.allow": v.object({ agentId, id: memoryIdField }),
};

/** The decision of a sweep, real or a dry run, on one recalled memory. */
export interface DreamVerdict {
  id: string;
  /** Empty when the memory contains a secret. */
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

/** The result of a sweep. Times are epoch ms. */
export interface DreamSummary {
  at: number;
  /** Memories that were recalled in the last 90 days. */
  candidates: number;
  promoted: number;
  /** Number of memories that an earlier sweep promoted. */
  alreadyPromoted: number;
  /** Number of memories left out because they contain a secret. */
  secrets: number;
  /** Lowest and highest score of the promoted memories. */
  scores?: [number, number];
  /** The workspace commit that contains the promotion; absent when the workspace has no history. */
  commit?: string;
  /** Why MEMORY.md could not be changed; nothing was promoted. */
  refused?: string;
}

/** Results of the methods of dreaming. */
export interface DreamResults {
  /** `verdicts`: at most 200, highest scores first. `busy`: another sweep of the agent is in progress; nothing was done. */
  "memory.dream":
    | { agentId: string; dryRun: boolean; busy: false; sweep: DreamSummary; verdicts: DreamVerdict[] }
    | { agentId: string; dryRun: false; busy: true };
  "memory.dreaming": {
    agentId: string;
    enabled: boolean;
    intervalSecs: number;
    /** The time of the next sweep; absent until a memory was recalled. */
    nextAt?: number;
    /** The last sweep that was completed. */
    last?: DreamSummary;
    /** The start of an unfinished sweep, which is resumed when its lease ends. */
    unfinishedAt?: number;
  };
}

/** Params of the methods of dreaming. */
export const dreamParams = {
  "memory.dream": v.optional(v.object({ agentId, dryRun: v.optional(v.boolean()) }), {}),
  "memory.dreaming": v.optional(v.object({ agentId }), {}),
};
