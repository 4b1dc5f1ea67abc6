import * as v from "valibot";
import { durationPattern } from "./duration.ts";

const text = (max: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(max));

/** When calls are shown to the owner first. `off`: never, except by rules. `guard`: when words of others could act. `ask`: all but reading. */
export const approvalModes = ["off", "guard", "ask"] as const;
export type ApprovalMode = (typeof approvalModes)[number];

const condition = v.pipe(
  v.strictObject({
    /** An argument of the call, such as `command` or `job.name`. */
    path: text(256),
    op: v.picklist(["equals", "in", "startsWith", "contains", "matches", "exists"]),
    /** `in`: a list; `exists`: a boolean, true when absent; otherwise a text, a number or a boolean. */
    value: v.optional(
      v.union([v.string(), v.number(), v.boolean(), v.pipe(v.array(v.string()), v.maxLength(1000))]),
    ),
    /** Of `matches`. */
    flags: v.optional(v.picklist(["", "i"])),
  }),
  v.check(
    (one) => isUsable(one),
    "expected a value that suits op: a list for in, a valid expression for matches",
  ),
);

export const approvalRule = v.strictObject({
  id: text(64),
  /** A tool by its name for the model; `*` stands for any characters. */
  tool: text(256),
  /** All have to hold. */
  when: v.optional(v.pipe(v.array(condition), v.maxLength(20))),
  decision: v.picklist(["allow", "ask", "deny"]),
  /** For the model and the owner. */
  reason: v.optional(text(500)),
  /** The rule applies only after words of one of these origins were read; `*` stands for any characters. */
  origin: v.optional(v.pipe(v.array(text(256)), v.maxLength(50))),
  node: v.optional(text(64)),
  /** For `ask`: no earlier answer counts. */
  everyTime: v.optional(v.boolean()),
});

/** What the agent may do without asking (docs/approvals.md). */
export const toolApproval = v.strictObject({
  mode: v.picklist(approvalModes),
  /** Modes of nodes. The strictest of node and agent counts. */
  nodes: v.record(text(64), v.picklist(approvalModes)),
  /** For calls without a rule. `byClass`: as the mode says. */
  defaultDecision: v.picklist(["byClass", "allow", "ask", "deny"]),
  rules: v.pipe(v.array(approvalRule), v.maxLength(200, "expected at most 200 rules")),
  /** How long a request waits for an answer: 1m to 30d. */
  expireAfter: v.pipe(v.string(), v.regex(durationPattern, "expected a duration such as 24h")),
  /** When a request is shown again; 0: never. */
  remindAfter: v.pipe(v.string(), v.regex(durationPattern, "expected a duration such as 1h; 0 switches off")),
});

/** The settings of one agent, which override those of `toolApproval`. */
export const ownToolApproval = v.strictObject({ mode: v.optional(v.picklist(approvalModes)) });

export type ToolApproval = v.InferOutput<typeof toolApproval>;
export type ApprovalRule = v.InferOutput<typeof approvalRule>;

function isUsable({ op, value }: { op: string; value?: unknown }): boolean {
  if (op === "in") return Array.isArray(value);
  if (op === "exists") return value === undefined || typeof value === "boolean";
  if (op === "equals") return value !== undefined && !Array.isArray(value);
  if (typeof value !== "string") return false;
  if (op !== "matches") return true;
  try {
    return Boolean(new RegExp(value, "u"));
  } catch {
    return false;
  }
}
