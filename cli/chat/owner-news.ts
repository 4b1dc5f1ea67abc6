import type { Approval } from "../../shared/protocol/approvals.ts";
import type { AgentChange, BudgetNews } from "../../shared/protocol/events.ts";
import { showHidden } from "../../shared/runtime/hidden-characters.ts";
import { dollarsOf } from "../../shared/spend/dollars.ts";
import { shorten } from "../app/columns.ts";
import type { Gateway } from "../gateway/gateway-client.ts";
import { followRequests } from "./open-requests.ts";
import { callLine, endText } from "./request-text.ts";

/** Max characters of a call in a line. */
const maxCall = 300;

/** Shows lines for each request of any session, for its end, and `followNotes`. Returns a function that unsubscribes. */
export function followOwnerNews(
  gateway: Pick<Gateway, "onEvent" | "request">,
  sessionKey: string,
  say: (line: string) => void,
): () => void {
  const where = (other: string) => otherSession(other, sessionKey);
  const lines = (request: Approval, start = "") => {
    for (const line of requestLines(request, where(request.sessionKey), start)) say(line);
  };
  const requests = followRequests(gateway, {
    requested: (request) => lines(request),
    reminded: (request) => lines(request, "still waiting: "),
    ended: (end) => say(endText(end, where(end.sessionKey))),
  });
  const endNotes = followNotes(gateway, sessionKey, say);
  return () => {
    requests.stop();
    endNotes();
  };
}

/**
 * Shows a line for a budget that is near its limit or used up, and for what an agent itself has changed for later runs. Returns a
 * function that unsubscribes.
 */
export function followNotes(
  gateway: Pick<Gateway, "onEvent">,
  sessionKey: string,
  say: (line: string) => void,
): () => void {
  const undo = [
    gateway.onEvent("budget.warning", (state) => say(warningLine(state))),
    gateway.onEvent("budget.reached", ({ ruleId, scope }) =>
      say(`the budget ${ruleId} (${showHidden(scope)}) is used up: gsv budget raise ${ruleId} AMOUNT`),
    ),
    gateway.onEvent("agent.changed", (change) => say(changeLine(change, sessionKey))),
  ];
  return () => {
    for (const end of undo) end();
  };
}

function changeLine({ agentId, kind, name, sessionKey }: AgentChange, open: string): string {
  const what = `${kind === "job" ? "created the job" : "changed"} ${shorten(showHidden(name), maxCall)}`;
  return `the agent ${showHidden(agentId)} has ${what}${otherSession(sessionKey, open)}`;
}

/** Names a session, unless it is the open conversation. */
function otherSession(sessionKey: string, open: string): string {
  return sessionKey === open ? "" : ` (${showHidden(sessionKey)})`;
}

function requestLines(request: Approval, where: string, start: string): string[] {
  const { id, tool, why } = request;
  const call = shorten(callLine(request), maxCall);
  return [
    `${start}may I use ${showHidden(tool)}${where}? ${call} — I ask because ${shorten(showHidden(why), maxCall)}.`,
    ...(call.endsWith("…") ? [`the whole call: gsv approvals show ${id}`] : []),
    `answer: gsv approvals allow ${id}, or gsv approvals deny ${id}`,
  ];
}

function warningLine({ ruleId, scope, used, limit }: BudgetNews): string {
  const [, kind] = /^runaway-(\w+)$/.exec(ruleId) ?? [];
  if (kind !== undefined)
    return `a run (${kind}) has cost ${dollarsOf(used)}, ten times as much as usual: gsv usage, or /stop there`;
  const share = Math.floor((100 * used) / Math.max(1, limit));
  return `${share} % of the budget ${ruleId} (${showHidden(scope)}) are used: gsv budget list`;
}
