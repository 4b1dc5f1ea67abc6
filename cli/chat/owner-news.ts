import type { Approval, ApprovalRequested, ApprovalResolved } from "../../shared/protocol/approvals.ts";
import type { BudgetState } from "../../shared/protocol/events.ts";
import { showHidden } from "../../shared/runtime/hidden-characters.ts";
import { shorten } from "../app/columns.ts";
import type { Gateway } from "../gateway/gateway-client.ts";

/** Max characters of a call in a line. */
const maxCall = 300;

/**
 * Shows lines for each request that waits for the owner, for its end, and for a budget that is near its limit or used up, in
 * any session. Returns a function that unsubscribes.
 * @param sessionKey of the open conversation; lines about others name theirs
 */
export function followOwnerNews(
  gateway: Pick<Gateway, "onEvent">,
  sessionKey: string,
  say: (line: string) => void,
): () => void {
  const shown = new Set<string>();
  const where = (other: string) => (other === sessionKey ? "" : ` (${showHidden(other)})`);
  const undo = [
    gateway.onEvent("approval.requested", (request) => {
      // A request is sent again when the agent continues.
      const once = `${request.id} ${request.reminder ?? false}`;
      if (shown.has(once)) return;
      shown.add(once);
      for (const line of requestLines(request, where(request.sessionKey))) say(line);
    }),
    gateway.onEvent("approval.resolved", (end) => say(endLine(end, where(end.sessionKey)))),
    gateway.onEvent("budget.warning", (state) => say(warningLine(state))),
    gateway.onEvent("budget.reached", ({ ruleId, scope }) =>
      say(`the budget ${ruleId} (${showHidden(scope)}) is used up: gsv budget raise ${ruleId} AMOUNT`),
    ),
  ];
  return () => {
    for (const end of undo) end();
  };
}

function requestLines({ reminder, ...request }: ApprovalRequested, where: string): string[] {
  const { id, tool, why } = request;
  const call = shorten(callLine(request), maxCall);
  const asks = `${reminder ? "still waiting: " : ""}may I use ${showHidden(tool)}${where}? ${call}`;
  return [
    `${asks} — I ask because ${shorten(showHidden(why), maxCall)}.`,
    ...(call.endsWith("…") ? [`the whole call: gsv approvals show ${id}`] : []),
    `answer: gsv approvals allow ${id}, or gsv approvals deny ${id}`,
  ];
}

function endLine({ id, tool, state, answer }: ApprovalResolved, where: string): string {
  const by = answer ? ` by ${showHidden(answer.by)}` : "";
  return `${showHidden(tool)}${where} is ${endings[state]}${by} (${id})`;
}

const endings: Record<ApprovalResolved["state"], string> = {
  ...{ allowed: "allowed", denied: "denied", unanswered: "not run: nobody answered in time" },
  ...{ withdrawn: "set aside", void: "not run: something has changed since it was asked; allowed" },
};

function warningLine({ ruleId, scope, used, limit }: BudgetState): string {
  const share = Math.floor((100 * used) / Math.max(1, limit));
  return `${share} % of the budget ${ruleId} (${showHidden(scope)}) are used: gsv budget list`;
}

/** The arguments of a call in one line, with every character visible. */
export function callLine({ args }: Pick<Approval, "args">): string {
  const line = typeof args.command === "string" ? args.command : JSON.stringify(args);
  return showHidden(line).replaceAll(/\s+/g, " ");
}
