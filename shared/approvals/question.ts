import { type Choice, choicePrefix, type Question, type TextForm } from "../channels/channel.ts";
import type { AnswerScope, Approval, ApprovalAnswer, ApprovalState } from "../protocol/approvals.ts";
import { showHidden } from "../runtime/hidden-characters.ts";
import { requesterTexts, scopesOf } from "./requester.ts";

/** Max characters of a call that are shown where the owner cannot answer by a button. */
const maxShown = 1500;

/** The least of a request's id that an answer in words must contain. */
export const minIdLength = 4;

/** The ids of the deliveries of a request: the question, and the reminder. */
export function questionIds(id: string): { first: string; again: string } {
  return { first: `ask:${id}`, again: `ask:${id}:again` };
}

/** What a button answers. */
export type ButtonAnswer = Pick<ApprovalAnswer, "decision" | "scope">;

/** The buttons in the order in which they are shown. A platform that shows fewer leaves out the longest permission first. */
const buttons = {
  once: { label: "Allow once", decision: "allow", scope: "once" },
  run: { label: "Allow for this run", decision: "allow", scope: "run" },
  day: { label: "Allow for today", decision: "allow", scope: "day" },
  always: { label: "Always allow exactly this", decision: "allow", scope: "always" },
  deny: { label: "Deny", decision: "deny", scope: "once" },
} as const satisfies Record<string, ButtonAnswer & { label: string }>;

type Button = keyof typeof buttons;

const pressed = /^ap:([a-z2-7]{16}):(once|run|day|always|deny)$/;

/** The request that a button is about. Undefined for data of anything else. */
export function requestOfButton(data: string): string | undefined {
  return pressed.exec(data)?.[1];
}

/** What a button answers. Undefined unless the question on this channel has the button. */
export function answerOfButton(approval: Approval, form: TextForm, data: string): ButtonAnswer | undefined {
  const isOffered = questionOf(approval, form).choices.some((choice) => choice.data === data);
  const button = isOffered ? buttons[pressed.exec(data)?.[2] as Button] : undefined;
  if (!button) return undefined;
  const { decision, scope } = button;
  return { decision, scope };
}

/**
 * A request as an owner reads it on a channel: the whole call, with invisible characters made visible. Where the channel
 * cannot show it whole and as it is, it has no button that allows.
 */
export function questionOf(approval: Approval, form: TextForm, isElsewhere = false): Question {
  const { id, until, createdAt, sessionKey } = approval;
  const hours = Math.round((until - createdAt) / 360_000) / 10;
  const commands = `\`gsv approvals allow ${id}\` or \`gsv approvals deny ${id}\` within ${hours} h.`;
  const words = (isWhole: boolean) => (form.buttons?.inWords ? wordsOf(id, isWhole) : "");
  const how = (isWhole: boolean) =>
    form.buttons ? `${words(isWhole)}Or ${commands}` : `Answer with ${commands}`;
  const about = aboutSession(sessionKey);
  // The same call has the same buttons, wherever it is asked about.
  const { text, isWhole } = callText(approval, form, `${how(true)}\n\n${about}`);
  const answers = how(isWhole);
  const parts = [text, answers, ...(isElsewhere ? [about] : [])];
  return { text: parts.join("\n\n"), choices: choicesOf(approval, form, isWhole) };
}

/** The words that answer a request where there are no buttons. */
function wordsOf(id: string, isWhole: boolean): string {
  const short = id.slice(0, minIdLength);
  return isWhole ? `Write \`yes ${short}\` or \`no ${short}\`. ` : `Write \`no ${short}\`. `;
}

/** Says which session a message is about, in another conversation. */
export function aboutSession(sessionKey: string): string {
  return `This is about ${sessionKey}.`;
}

/** How a request ended, in place of its question. */
export function closedQuestion(approval: Approval, form: TextForm, state: ApprovalState | "gone"): string {
  const ended = outcomeText(state, approval.answer);
  return `${callText(approval, form, ended).text}\n\n${ended}`;
}

const scopes: Record<AnswerScope, string> = {
  once: "once",
  run: "for this run",
  session: "for this session",
  always: "always, exactly this",
  day: "for today",
};

/** How a request stands, in one sentence. */
export function outcomeText(
  state: ApprovalState | "gone",
  { by, scope }: Partial<Pick<ApprovalAnswer, "by" | "scope">> = {},
): string {
  const who = by === undefined ? "" : ` by ${by}`;
  switch (state) {
    case "open":
      return "Waits for an answer.";
    case "allowed":
      return `Allowed${scope ? ` ${scopes[scope]}` : ""}${who}.`;
    case "denied":
      return `Denied${who}.`;
    case "void":
      return `Allowed${who}, but not run: something had changed.`;
    case "withdrawn":
      return "Withdrawn: it was stopped, or you wrote something else.";
    case "unanswered":
      return "Nobody answered in time: not run.";
    case "gone":
      return "No longer waits: its run has ended.";
  }
}

function choicesOf(approval: Approval, { buttons: form }: TextForm, isWhole: boolean): Choice[] {
  const { id } = approval;
  const scopes = form?.inWords ? ["once"] : scopesOf(approval);
  const allowed = (["once", "run", "day", "always"] as const).filter((name) => scopes.includes(name));
  const shown = allowed.length >= (form?.maxChoices ?? 0) ? allowed.slice(0, 2) : allowed;
  const names: Button[] = isWhole ? [...shown, "deny"] : ["deny"];
  return names.map((name) => ({ label: buttons[name].label, data: `${choicePrefix}${id}:${name}` }));
}

/** The question without its answers, cut if it does not fit beside another text. */
function callText(
  { id, tool, args, why, requester }: Approval,
  { buttons: form, encode = (text) => text }: TextForm,
  beside: string,
): { text: string; isWhole: boolean } {
  const { question, choices } = requester
    ? requesterTexts(requester)
    : { question: `May I use ${tool}?`, choices: wholeCall(args) };
  const call = showHidden(choices);
  const head = `${question} ${requester ? why : `I ask because ${why}.`}`;
  const fence = form?.fence ?? "";
  const canShow = fence === "" || !call.includes(fence);
  const enclosed = (shown: string) => (fence && canShow ? `${fence}\n${shown}\n${fence}` : shown);
  const whole = `${head}\n\n${enclosed(call)}`;
  const room = (form?.maxText ?? Number.POSITIVE_INFINITY) - encode(`\n\n${beside}`).length;
  if (canShow && encode(whole).length <= room && (form || call.length <= maxShown))
    return { text: whole, isWhole: true };
  const hint = `… (cut: see the whole with \`gsv approvals show ${id}\`)`;
  for (let length = Math.min(maxShown, call.length); ; length = Math.floor(length / 2)) {
    const text = `${head}\n\n${enclosed(call.slice(0, length).toWellFormed())}\n${hint}`;
    if (length === 0 || encode(text).length <= room) return { text, isWhole: false };
  }
}

function wholeCall({ command, ...others }: Approval["args"]): string {
  if (typeof command !== "string")
    return JSON.stringify(command === undefined ? others : { command, ...others }, null, 1);
  return Object.keys(others).length === 0 ? command : `${command}\n${JSON.stringify(others, null, 1)}`;
}
