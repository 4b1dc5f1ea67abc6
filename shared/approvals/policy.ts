import * as v from "valibot";
import type { Configuration } from "../configuration/schema.ts";
import {
  type ApprovalMode,
  type ApprovalRule,
  approvalModes,
  ownToolApproval,
  type ToolApproval,
  toolApproval,
} from "../configuration/tool-approval.ts";
import { kindOf } from "../origins/origins.ts";
import { classOf, type JudgedCall } from "./classes.ts";
import { whyGuarded } from "./guard-mode.ts";
import { parseSimple, possibleCommands } from "./simple-command.ts";

/** What a call may do, and why. `ruleId`: the rule that decided. `everyTime`: no earlier answer counts. */
export interface Decision {
  decision: "allow" | "ask" | "deny";
  why: string;
  ruleId?: string;
  everyTime?: true;
}

/** The rules and modes of one agent. */
export interface Policy extends Pick<ToolApproval, "nodes" | "defaultDecision" | "rules"> {
  mode: ApprovalMode;
}

const unreadable = "the approval settings cannot be read: correct toolApproval in the configuration";

/** The policy of an agent; undefined if it cannot be read, and then every call is denied. */
export function policyOf({ toolApproval: set, agents }: Configuration, agentId: string): Policy | undefined {
  const own = agents.list.find(({ id }) => id === agentId)?.toolApproval ?? {};
  if (!v.is(toolApproval, set) || !v.is(ownToolApproval, own)) return undefined;
  const { nodes, defaultDecision, rules } = set;
  return { nodes, defaultDecision, rules, mode: own.mode ?? set.mode };
}

/**
 * Decides about a call: deny rules, then earlier answers, ask rules, allow rules, and the class of the tool in the mode.
 * @param origins whose words the run has read; empty: only the owner's
 * @param findGrant the id of a grant with which the owner has allowed exactly this call; called only if it matters
 */
export async function judge(
  policy: Policy | undefined,
  call: JudgedCall,
  origins: readonly string[],
  findGrant: () => Promise<string | undefined>,
): Promise<Decision> {
  if (!policy) return { decision: "deny", why: unreadable };
  const first = (decision: ApprovalRule["decision"]) =>
    policy.rules.find((rule) => rule.decision === decision && applies(rule, call, origins));
  const denied = first("deny");
  if (denied) return byRule(denied);
  const asks = first("ask") ?? first("allow");
  const found = asks ? byRule(asks) : byDefault(policy, call, origins);
  const granted = found.decision === "ask" && !found.everyTime ? await findGrant() : undefined;
  return granted === undefined ? found : { decision: "allow", why: `your earlier answer ${granted}` };
}

function byRule({ id, decision, reason, everyTime }: ApprovalRule): Decision {
  return { decision, why: reason ?? `rule ${id}`, ruleId: id, ...(everyTime ? { everyTime } : {}) };
}

function byDefault(
  { mode, nodes, defaultDecision }: Policy,
  call: JudgedCall,
  origins: readonly string[],
): Decision {
  if (defaultDecision !== "byClass")
    return { decision: defaultDecision, why: "toolApproval.defaultDecision" };
  const ofNode = call.node !== undefined && Object.hasOwn(nodes, call.node) ? nodes[call.node] : undefined;
  const strictest =
    approvalModes[Math.max(approvalModes.indexOf(mode), approvalModes.indexOf(ofNode ?? "off"))];
  if (strictest === "off") return { decision: "allow", why: "mode off" };
  const toolClass = classOf(call);
  const guarded = whyGuarded(call, toolClass, origins);
  if (guarded !== undefined)
    return { decision: "ask", why: guarded, ...(toolClass === "admin" ? { everyTime: true } : {}) };
  const asks = strictest === "ask" && toolClass !== "read";
  return asks ? { decision: "ask", why: "mode ask" } : { decision: "allow", why: `mode ${strictest}` };
}

function applies(rule: ApprovalRule, call: JudgedCall, origins: readonly string[]): boolean {
  const { tool, node, origin, when = [], decision } = rule;
  if (node !== undefined && node !== call.node) return false;
  if (!matchesName(tool, call.tool)) return false;
  const isOf = (pattern: string) => origins.some((one) => matchesOrigin(pattern, one, decision));
  if (origin && !origin.some(isOf)) return false;
  return when.every((condition) => {
    const value = valueAt(call.args, condition.path);
    if (condition.path !== "command" || typeof value !== "string") return holds(condition, value);
    // A rule that allows sees one simple command; a rule that forbids or asks sees everything that might be a command.
    if (decision !== "allow") return possibleCommands(value).some((command) => holds(condition, command));
    return parseSimple(value) !== undefined && holds(condition, value.trim());
  });
}

/** Compares an origin. `web:*` stands for many hosts: any of them may be the one that a rule forbids or asks about. */
function matchesOrigin(pattern: string, origin: string, decision: ApprovalRule["decision"]): boolean {
  if (matchesName(pattern, origin)) return true;
  if (decision === "allow" || !origin.endsWith(":*")) return false;
  const [kind = "", wildcard] = kindOf(pattern).split("*");
  return wildcard === undefined ? kind === kindOf(origin) : origin.startsWith(kind);
}

/** Compares names, where `*` stands for any characters. */
function matchesName(pattern: string, name: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(name);
}

function valueAt(args: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => {
    const isOwn = typeof value === "object" && value !== null && Object.hasOwn(value, name);
    return isOwn ? (value as Record<string, unknown>)[name] : undefined;
  }, args);
}

type Condition = NonNullable<ApprovalRule["when"]>[number];

function holds({ op, value, flags = "" }: Condition, found: unknown): boolean {
  const text = typeof found === "string" ? found : JSON.stringify(found);
  switch (op) {
    case "exists":
      return (found !== undefined) === (value ?? true);
    case "equals":
      return found === value;
    case "in":
      return Array.isArray(value) && typeof found === "string" && value.includes(found);
    case "startsWith":
      return text?.startsWith(String(value)) === true;
    case "contains":
      return text?.includes(String(value)) === true;
    case "matches":
      return text !== undefined && new RegExp(String(value), `u${flags}`).test(text);
  }
}
