import type { Approval, BudgetRequester, McpRequester } from "../../shared/protocol/approvals.ts";

/** As in `showHidden` of the gateway, which a test compares: what a reader does not see, besides emoji and line breaks. */
const hidden =
  /[\t\n]|\r\n|\p{Extended_Pictographic}[\ufe0e\ufe0f]?\p{Emoji_Modifier}?(?:\u200d\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?)*|[0-9#*]\ufe0f\u20e3|([\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800])/gu;

/** The text with each hidden character shown as `⟨U+E0072⟩`. */
export function showHidden(text: string): string {
  return text.replace(hidden, (part, found?: string) => {
    if (found === undefined) return part;
    return `⟨U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** The question: the first line of the terminal's text. */
export function questionText({ tool, node, requester }: Approval): string {
  if (requester?.kind === "mcp") return serverQuestion(requester);
  if (requester) return `May I spend more than the budget ${showHidden(requester.ruleId)} allows?`;
  return `May I use ${showHidden(tool)}${node === undefined ? "" : ` on ${showHidden(node)}`}?`;
}

function serverQuestion({ server, tool, message }: McpRequester): string {
  return showHidden(`${server} asks during ${tool}: ${message}`);
}

/** The whole arguments of a call, or what each answer to a budget or a server means, with every character visible. */
export function callText({ args, requester }: Pick<Approval, "args" | "requester">): string {
  if (requester?.kind === "mcp") return showHidden(serverChoices(requester));
  if (requester) return choicesText(requester);
  const { command, ...others } = args;
  if (typeof command !== "string") return showHidden(JSON.stringify(args, null, 2));
  const more = Object.keys(others).length > 0 ? `\n${JSON.stringify(others)}` : "";
  return showHidden(command + more);
}

function serverChoices({ field }: McpRequester): string {
  const once =
    field === undefined ? "once: yes" : `once: only with ${field} as its text (gsv approvals allow ID TEXT)`;
  return `${once}\ndeny: no`;
}

function choicesText({ unit, once, run, day }: BudgetRequester): string {
  const show = (amount: number) => {
    if (unit === "tokens") return `${amount} tokens`;
    return `$${(amount / 1_000_000).toFixed(amount !== 0 && amount < 100_000 ? 4 : 2)}`;
  };
  return [
    `once: at most ${show(once)} more, for the next call`,
    `run: at most ${show(run)} more, for the rest of this run`,
    `day: the limit is ${show(day)} higher today`,
  ].join("\n");
}

/** Why it is asked, whose words were read, and where. */
export function reasonLines({ why, origins, sessionKey }: Approval): string[] {
  const words = origins.length > 0 ? origins.map(showHidden).join(", ") : "only yours";
  return [`why: ${showHidden(why)}`, `words read: ${words}`, `session: ${showHidden(sessionKey)}`];
}

const mainArguments = ["command", "path", "pattern", "action", "query", "url"];

/** A call's arguments in one line, at most `max` characters: the main ones when present, else all as JSON. */
export function argumentsLine(args: unknown, max = 120): string {
  if (typeof args !== "object" || args === null) return "";
  const named = new Map(Object.entries(args));
  const main = mainArguments.map((name) => named.get(name)).filter((value) => typeof value === "string");
  const line = main.length > 0 ? main.join(" ") : named.size > 0 ? JSON.stringify(args) : "";
  const flat = showHidden(line).replaceAll(/\s+/g, " ");
  return flat.length > max ? `${flat.slice(0, max - 1)}…` : flat;
}
