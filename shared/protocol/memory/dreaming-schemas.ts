import * as v from "valibot";
import { idField } from "../schemas.ts";

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

const agentId = v.optional(idField);

/** Params of the methods of dreaming. */
export const dreamParams = {
  "memory.dream": v.optional(v.object({ agentId, dryRun: v.optional(v.boolean()) }), {}),
  "memory.dreaming": v.optional(v.object({ agentId }), {}),
};
