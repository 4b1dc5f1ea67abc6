import * as v from "valibot";
import { count, idField, sessionKeyField } from "./schemas.ts";

/** How long an allowing answer counts: for this call, or for equal calls of this run, of this session, or of all sessions. */
export const grantScopes = ["once", "run", "session", "always"] as const;
export type GrantScope = (typeof grantScopes)[number];

/** `day`: a budget's limit is raised for the day. */
export const answerScopes = [...grantScopes, "day"] as const;
export type AnswerScope = (typeof answerScopes)[number];

/** The owner's answer to a request. */
export interface ApprovalAnswer {
  decision: "allow" | "deny";
  scope: AnswerScope;
  /** Who answered, such as `client laptop`. */
  by: string;
  /** Epoch ms. */
  at: number;
  /** For the model. */
  note?: string;
}

/**
 * `void`: it was allowed, but not run, because something had changed. `withdrawn`: the run was stopped, or the owner wrote
 * something else.
 */
export type ApprovalState = "open" | "allowed" | "denied" | "unanswered" | "withdrawn" | "void";

/**
 * Who asks instead of the policy of tool calls, and all that an answer is about. The session's item stores it with the pending
 * call, because nothing else does. Another requester is a variant here, its text and choices in `shared/approvals/requester.ts`,
 * and what its answer leads to in `functions/agent/tools/act-on-answers.ts`, or in its own step if no tool call waits.
 */
export type Requester = BudgetRequester | McpRequester;

/** A budget with `ask`, at whose limit a run waits. Amounts are μ$, or tokens. */
export interface BudgetRequester {
  kind: "budget";
  /** What has used how much of the limit, and when it resets. */
  why: string;
  ruleId: string;
  unit: "usd" | "tokens";
  /** What the run had spent. */
  spent: number;
  /** What each answer allows: the run to spend so much more whatever the limit says, or the limit to be so much higher. */
  once: number;
  run: number;
  day: number;
}

/** A question that an MCP server asks during a call (`input_required`). */
export interface McpRequester {
  kind: "mcp";
  why: string;
  /** The tool by its name for the model. */
  tool: string;
  server: string;
  /** The server's words. */
  message: string;
  /** Its names for what it asks. */
  keys: string[];
  /** What the note of an allowing answer is. Absent: yes or no. */
  field?: string;
}

/** A tool call, or a run, that waits or waited for the owner's answer. */
export interface Approval {
  /** 16 characters of base32, from `hash`. */
  id: string;
  kind: "tool" | Requester["kind"];
  /** Unless `kind` is `tool`. */
  requester?: Requester;
  state: ApprovalState;
  /** SHA-256, in hex, over everything that an answer is about. */
  hash: string;
  sessionKey: string;
  runId: string;
  step: number;
  callId: string;
  /** The tool by its name for the model, or the requester. */
  tool: string;
  node?: string;
  /** The whole arguments. Empty: the requester has everything. */
  args: Record<string, unknown>;
  /** Why it is asked. */
  why: string;
  /** Whose words the run had read, besides the owner's. */
  origins: string[];
  /** Only this call may be allowed. */
  everyTime?: true;
  /** Epoch ms. */
  createdAt: number;
  /** When it counts as unanswered, epoch ms. */
  until: number;
  answer?: ApprovalAnswer;
}

/** A call that was decided about, and how it ended. Kept for 90 days. */
export interface LoggedCall {
  sessionKey: string;
  runId: string;
  step: number;
  callId: string;
  /** When it was decided and when the run got its result, epoch ms. */
  at: number;
  endedAt: number;
  /** The tool by its name for the model. */
  tool: string;
  /** The arguments as JSON; the rest of a long one is left out. */
  args: string;
  /** Whose words the run had read, besides the owner's. */
  origins: string[];
  /** By the rules, the mode and earlier answers; `ask`: the owner was asked. */
  decision: "allow" | "ask" | "deny";
  why: string;
  requestId?: string;
  answer?: ApprovalAnswer;
  /** `error`: the call failed, was stopped, timed out, or was not run. */
  ended: "ok" | "error";
  error?: string;
}

/** An answer that counts for equal calls. */
export interface Grant {
  /** The id of its request. */
  id: string;
  scope: Exclude<GrantScope, "once">;
  agentId: string;
  tool: string;
  node?: string;
  args: Record<string, unknown>;
  /** Of scopes `run` and `session`. */
  sessionKey?: string;
  runId?: string;
  /** Those of the request. */
  origins: string[];
  createdBy: string;
  /** Epoch ms. */
  createdAt: number;
  uses: number;
  /** Epoch ms. */
  lastUsedAt?: number;
}

/** `gone`: its run has ended. `void` and the others: as in `ApprovalState`. */
export type AnswerResult =
  | { status: "answered" }
  | { status: "already"; decision: "allow" | "deny"; by: string; at: number }
  | { status: "expired" | "withdrawn" | "gone" };

/** A request that waits for an answer. It is sent again when the agent continues, and once as a reminder. */
export type ApprovalRequested = Approval & { reminder?: true };

export interface ApprovalResolved {
  id: string;
  sessionKey: string;
  runId: string;
  tool: string;
  state: Exclude<ApprovalState, "open">;
  answer?: ApprovalAnswer;
}

const approvalId = v.pipe(
  v.string(),
  v.trim(),
  v.toLowerCase(),
  v.regex(/^[a-z2-7]{16}$/, "expected 16 characters of a-z and 2-7"),
);

export const approvalParams = {
  "approval.list": v.optional(
    v.object({
      all: v.optional(v.boolean(), false),
      sessionKey: v.optional(sessionKeyField),
      limit: v.optional(count(1, 500), 100),
    }),
    { all: false, limit: 100 },
  ),
  "approval.get": v.object({ id: approvalId }),
  "approval.answer": v.object({
    id: approvalId,
    hash: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "expected 64 lower-case hex digits")),
    decision: v.picklist(["allow", "deny"]),
    scope: v.optional(v.picklist(answerScopes), "once"),
    note: v.optional(v.pipe(v.string(), v.maxLength(1000))),
  }),
  "grant.list": v.optional(v.object({}), {}),
  "grant.revoke": v.object({ id: idField }),
} as const;

export interface ApprovalResults {
  /**
   * `decisions`: with `all`, the newest calls that have ended. `unchosen`: nobody has set `toolApproval`, so nothing is asked;
   * `new` in the first answer that says so.
   */
  "approval.list": {
    approvals: Approval[];
    count: number;
    decisions?: LoggedCall[];
    unchosen?: "new" | "told";
  };
  "approval.get": Approval;
  "approval.answer": AnswerResult;
  "grant.list": { grants: Grant[]; count: number };
  "grant.revoke": { ok: true; revoked: boolean };
}
