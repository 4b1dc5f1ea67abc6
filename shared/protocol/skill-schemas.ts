import * as v from "valibot";
import { idField } from "./schemas.ts";

/** Params of the methods of skills. */
export const skillParams = {
  "skills.status": v.optional(v.object({ agentId: v.optional(idField, "main") }), { agentId: "main" }),
  "skills.update": v.optional(
    v.object({
      agentId: v.optional(idField, "main"),
      force: v.optional(v.boolean(), false),
      timeoutMs: v.optional(v.number()),
    }),
    { agentId: "main", force: false },
  ),
  "skills.files": v.object({
    agentId: idField,
    name: idField,
    hash: v.pipe(v.string(), v.regex(/^[0-9a-f]{16}$/, "expected 16 lower-case hex digits")),
  }),
};

/** The fields of a connected node that skills use. `hostBins`: the programs that it is known to have. */
export interface SkillNode {
  nodeId: string;
  hostRole: string;
  hostCapabilities: string[];
  hostOs?: string;
  hostEnv: string[];
  hostBins: string[];
  hostBinStatusUpdatedAt?: number;
  /** The node runs commands, so the gateway can ask which programs it has. */
  canProbeBins: boolean;
}

/** A skill, and whether it can be used now. */
export interface SkillEntry {
  name: string;
  description: string;
  /** Key in the bucket. */
  location: string;
  always: boolean;
  eligible: boolean;
  /** Nodes that have everything the skill requires. */
  eligibleHosts: string[];
  /** Why it cannot be used, each a phrase. */
  reasons: string[];
  requirements?: Partial<Record<string, string[]>>;
}

export interface SkillsResult {
  agentId: string;
  refreshedAt: number;
  /** The programs that enabled skills of the agent require. */
  requiredBins: string[];
  nodes: SkillNode[];
  skills: SkillEntry[];
}

/** A file of a skill for a node's copy. `path` is relative to the skill's folder, `url` a presigned GET for five minutes. */
export interface MirroredFile {
  path: string;
  /** Bytes. */
  size: number;
  url: string;
}

/** The skills, computed before the nodes have answered. */
export interface SkillsUpdate extends SkillsResult {
  /** Number of nodes that were asked. */
  updatedNodeCount: number;
  /** Nodes that were not asked: their answers are fresh or pending, or they run no commands. */
  skippedNodeIds: string[];
  /** Nodes that could not be asked, each with its id and the reason. */
  errors: string[];
}

/** Results of the methods of skills. */
export interface SkillMethodResults {
  "skills.status": SkillsResult;
  "skills.update": SkillsUpdate;
  "skills.files": { files: MirroredFile[] };
}
