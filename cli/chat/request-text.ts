import { requesterTexts } from "../../shared/approvals/requester.ts";
import type { AnswerResult, Approval, ApprovalResolved } from "../../shared/protocol/approvals.ts";
import { showHidden } from "../../shared/runtime/hidden-characters.ts";

/** A request as its reader must see it before an answer: the whole call, why it is asked, and whose words were read. */
export function requestText(request: Approval): string {
  const { tool, node, why, origins, sessionKey, requester } = request;
  const words = origins.length > 0 ? origins.map(showHidden).join(", ") : "only yours";
  return [
    requester
      ? showHidden(requesterTexts(requester).question)
      : `May I use ${showHidden(tool)}${node === undefined ? "" : ` on ${showHidden(node)}`}?`,
    ...callText(request)
      .split("\n")
      .map((line) => `  ${line}`),
    `why: ${showHidden(why)}`,
    `words read: ${words}`,
    `session: ${showHidden(sessionKey)}`,
  ].join("\n");
}

/** The whole arguments of a call, or what each answer to a requester means, with every character visible. */
export function callText({ args, requester }: Pick<Approval, "args" | "requester">): string {
  if (requester) return showHidden(requesterTexts(requester).choices);
  const { command, ...others } = args;
  if (typeof command !== "string") return showHidden(JSON.stringify(args, null, 2));
  const more = Object.keys(others).length > 0 ? `\n${JSON.stringify(others)}` : "";
  return showHidden(command + more);
}

/** The arguments of a call, or a requester's question, in one line, with every character visible. */
export function callLine({ args, requester }: Pick<Approval, "args" | "requester">): string {
  const call = typeof args.command === "string" ? args.command : JSON.stringify(args);
  const line = requester ? requesterTexts(requester).question : call;
  return showHidden(line).replaceAll(/\s+/g, " ");
}

const endings: Record<ApprovalResolved["state"], string> = {
  ...{ allowed: "allowed", denied: "denied", unanswered: "not run: nobody answered in time" },
  ...{ withdrawn: "set aside", void: "not run: something has changed since it was asked; allowed" },
};

/** How a request ended. @param where follows the tool's name */
export function endText({ id, tool, state, answer }: Omit<ApprovalResolved, "runId">, where = ""): string {
  const by = answer ? ` by ${showHidden(answer.by)}` : "";
  return `${showHidden(tool)}${where} is ${endings[state]}${by} (${id})`;
}

/** What an answer has done. */
export function resultText(result: AnswerResult): string {
  switch (result.status) {
    case "answered":
      return "answered";
    case "already":
      return `already answered with ${result.decision} by ${showHidden(result.by)}`;
    case "expired":
      return "too late: nobody answered in time";
    case "withdrawn":
      return "too late: it was set aside";
    default:
      return "too late: its run has ended";
  }
}
