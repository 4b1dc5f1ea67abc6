import {
  type Approval,
  type ApprovalAnswer,
  answerScopes,
  type LoggedCall,
} from "../../../shared/protocol/approvals.ts";
import type { Results } from "../../../shared/protocol/results.ts";
import { showHidden } from "../../../shared/runtime/hidden-characters.ts";
import { columns, moment, shorten } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { usage } from "../../app/failure.ts";
import type { Action } from "../../app/program.ts";
import { callLine, requestText, resultText } from "../../chat/request-text.ts";

export const listApprovals: Action = async (context, { options }) => {
  const gateway = await context.gateway();
  const answer = await gateway.request("approval.list", { all: options.all === true });
  if (options.all === true) return context.print(answer, logText(answer));
  const rows = answer.approvals.map((one) => [
    one.id,
    one.state,
    one.tool,
    moment(one.createdAt),
    shorten(callLine(one), 60),
  ]);
  const header = ["ID", "STATE", "TOOL", "SINCE", "CALL"];
  context.print(answer, rows.length > 0 ? columns(header, rows) : "no call waits for your answer");
};

/** Every call that was decided about, and the requests that it does not contain: those that wait. */
function logText({ approvals, decisions = [] }: Results["approval.list"]): string {
  const known = new Set(decisions.map(({ requestId }) => requestId));
  const waiting = approvals.filter(({ id }) => !known.has(id));
  const rows = [
    ...decisions.map((one) => ({ at: one.at, cells: decisionCells(one) })),
    ...waiting.map((one) => ({
      at: one.createdAt,
      cells: [one.state, one.answer ? showHidden(one.answer.by) : "-", "-", one.tool, callLine(one), one.id],
    })),
  ].sort((a, b) => a.at - b.at);
  const header = ["WHEN", "DECISION", "BY", "ENDED", "TOOL", "CALL", "REQUEST"];
  const cells = rows.map(
    ({ at, cells: [state = "", by = "", ended = "", tool = "", call = "", id = ""] }) => [
      ...[moment(at), state, shorten(by, 40), ended, showHidden(tool), shorten(call, 60), id],
    ],
  );
  return cells.length > 0 ? columns(header, cells) : "no call was decided about in the last 90 days";
}

function decisionCells({ decision, why, answer, ended, tool, args, requestId = "-" }: LoggedCall): string[] {
  const asked = answer ? answer.decision : "none";
  const by = answer ? answer.by : decision === "ask" ? "nobody" : why;
  return [decision === "ask" ? asked : decision, showHidden(by), ended, tool, loggedLine(args), requestId];
}

/** The logged arguments, which may have been cut, in one line. */
function loggedLine(args: string): string {
  try {
    return callLine({ args: JSON.parse(args) as Approval["args"] });
  } catch {
    return showHidden(args);
  }
}

export const showApproval: Action = async (context, { args: [id = ""] }) => {
  const gateway = await context.gateway();
  const approval = await gateway.request("approval.get", { id });
  const { state, until, answer } = approval;
  const end = answer ? `: ${answerText(answer)}` : state === "open" ? `, waits until ${moment(until)}` : "";
  context.print(approval, `${requestText(approval)}\nstate: ${state}${end}`);
};

export const allowCall: Action = async (context, { args: [id = "", note], options }) => {
  const scope = options.for ?? "once";
  const known = answerScopes.find((one) => one === scope);
  if (!known) throw usage(`--for: expected ${answerScopes.join(", ")}`);
  await sendAnswer(context, id, { decision: "allow", scope: known, ...(note === undefined ? {} : { note }) });
};

export const denyCall: Action = (context, { args: [id = "", note] }) =>
  sendAnswer(context, id, { decision: "deny", scope: "once", ...(note === undefined ? {} : { note }) });

/** Answers for what the request shows now: the gateway refuses an answer to anything else. */
async function sendAnswer(
  context: Context,
  id: string,
  answer: Pick<ApprovalAnswer, "decision" | "scope" | "note">,
): Promise<void> {
  const gateway = await context.gateway();
  const approval = await gateway.request("approval.get", { id });
  const result = await gateway.request("approval.answer", { id, hash: approval.hash, ...answer });
  context.print(result, `${resultText(result)}: ${approval.tool} ${shorten(callLine(approval), 60)}`);
}

export const listRules: Action = async (context) => {
  const gateway = await context.gateway();
  const answer = await gateway.request("grant.list", {});
  const rows = answer.grants.map((one) => [
    one.id,
    one.scope,
    one.tool,
    String(one.uses),
    one.lastUsedAt === undefined ? "-" : moment(one.lastUsedAt),
    shorten(callLine(one), 60),
  ]);
  const header = ["ID", "FOR", "TOOL", "USES", "LAST", "CALL"];
  context.print(
    answer,
    rows.length > 0 ? columns(header, rows) : "you have allowed nothing for longer than once",
  );
};

export const revokeRule: Action = async (context, { args: [id = ""] }) => {
  const gateway = await context.gateway();
  const answer = await gateway.request("grant.revoke", { id });
  context.print(answer, answer.revoked ? "revoked: the next such call asks" : `there is no rule ${id}`);
};

function answerText({ decision, scope, by, at, note }: ApprovalAnswer): string {
  const said = note === undefined ? "" : `: ${showHidden(note)}`;
  return `${decision} (${scope}) by ${by}, ${moment(at)}${said}`;
}
