import type {
  DreamResults,
  DreamSummary,
  DreamVerdict,
  ForgottenMemory,
  LastExtraction,
  Memory,
} from "../../../shared/protocol/memory-schemas.ts";
import { columns, visible } from "../../app/columns.ts";
import { usage } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";

const agentOf = ({ options }: Invocation) => ({ agentId: text(options.agent) });
const day = (at: number) => new Date(at).toISOString().slice(0, 16).replace("T", " ");

/** Lists the memories of an agent, or those that match a question. */
export const listMemories: Action = async (context, invocation) => {
  const limit = Number(text(invocation.options.limit) ?? 100);
  if (!Number.isInteger(limit) || limit < 1) throw usage("--limit must be a whole number from 1 to 1000");
  const gateway = await context.gateway();
  const forgotten = invocation.options.forgotten === true;
  const asked = { ...agentOf(invocation), query: invocation.args.join(" "), limit, forgotten };
  const result = await gateway.request("memory.list", asked);
  if (forgotten) return context.print(result, forgottenText(result.forgotten ?? []));
  const rows = result.memories.map((memory) => [memory.id, whereFrom(memory), textWithEnd(memory)]);
  const none = "(no memories: resets, compactions and `gsv memory add` write them)";
  const listed = rows.length > 0 ? columns(["ID", "FROM", "MEMORY"], rows) : none;
  const { extraction } = result;
  context.print(result, extraction ? `${listed}\n${extractionText(extraction)}` : listed);
};

function textWithEnd({ text, ended }: Memory): string {
  return ended === undefined ? visible(text) : `${visible(text)} (until ${visible(ended)})`;
}

function forgottenText(forgotten: readonly ForgottenMemory[]): string {
  if (forgotten.length === 0) return "(no memory was forgotten or corrected)";
  const rows = forgotten.map(({ id, at, isCorrected, suppressed }) => [
    id,
    `${isCorrected ? "corrected" : "forgotten"} ${day(at)}`,
    suppressed ? `${day(suppressed.at)} ${visible(suppressed.sessionKey)} ${suppressed.sessionId}` : "never",
  ]);
  return columns(["ID", "WHEN", "LAST KEPT OUT"], rows);
}

/** How the last extraction of memories stands, in one line. */
function extractionText({ state, sessionKey, at, count = 0, reason, nextAt }: LastExtraction): string {
  const next = nextAt === undefined ? "" : `; next attempt ${day(nextAt)} UTC`;
  const end = state === "done" ? `: ${count === 1 ? "1 memory" : `${count} memories`}` : "";
  const why = reason === undefined ? "" : `: ${visible(reason)}`;
  return `last extraction, of ${day(at)} in ${visible(sessionKey)}: ${state}${end}${why}${next}`;
}

/** Shows the files that contain a memory, its origin, and the messages it came from. */
export const explainMemory: Action = async (context, invocation) => {
  const gateway = await context.gateway();
  const asked = { ...agentOf(invocation), id: invocation.args[0] ?? "" };
  const { memory, sources } = await gateway.request("memory.why", asked);
  const lines = [
    visible(memory.text),
    ...memory.places.map(({ path, line }) => `  in ${visible(path)}, line ${line}`),
    `  ${originText(memory)}`,
    ...sources.flatMap(({ at, role, sessionId, message, text }) => [
      `  ${day(at)}  ${role}  ${visible(sessionId)} message ${message}`,
      `    ${visible(text)}`,
    ]),
  ];
  context.print({ memory, sources }, lines.join("\n"));
};

/** Adds a memory. */
export const addMemory: Action = async (context, invocation) => {
  const gateway = await context.gateway();
  const asked = { ...agentOf(invocation), text: invocation.args.join(" ") };
  const result = await gateway.request("memory.add", asked);
  context.print(result, `remembered ${result.memory.id}`);
};

/** Removes a memory from all files, and with --everywhere from the history. */
export const forgetMemory: Action = async (context, invocation) => {
  const everywhere = invocation.options.everywhere === true;
  const gateway = await context.gateway();
  const asked = { ...agentOf(invocation), id: invocation.args[0] ?? "", everywhere };
  const result = await gateway.request("memory.forget", asked);
  const out =
    result.files.length > 0 ? `removed from ${result.files.map(visible).join(", ")}` : "it was in no file";
  const history =
    result.commits === undefined
      ? "The history of the workspace and stored prompts still contain it; --everywhere removes it there, too."
      : `${result.commits} commits of the history were rewritten without it, and ${result.copies ?? 0} prompts and search files.`;
  const rest = "The conversation still contains its messages; `gsv session delete` deletes it.";
  context.print(result, [`forgotten: ${out}`, history, rest].join("\n"));
};

/** Strikes a memory out and adds its replacement. */
export const correctMemory: Action = async (context, invocation) => {
  const [id = "", ...words] = invocation.args;
  const gateway = await context.gateway();
  const asked = { ...agentOf(invocation), id, text: words.join(" ") };
  const result = await gateway.request("memory.correct", asked);
  const struck = result.files.map(visible).join(", ");
  context.print(result, `struck out in ${struck}; replaced by ${result.by.id} ${visible(result.by.text)}`);
};

/** Lets extractions bring a forgotten memory back, and undoes that a memory was replaced or ended. */
export const allowMemory: Action = async (context, invocation) => {
  const gateway = await context.gateway();
  const result = await gateway.request("memory.allow", {
    ...agentOf(invocation),
    id: invocation.args[0] ?? "",
  });
  const { id, files = [] } = result;
  const text =
    files.length > 0
      ? `restored in ${files.map(visible).join(", ")}`
      : `allowed: ${visible(id)} returns when a conversation says it again, or with \`gsv memory add\``;
  context.print(result, text);
};

function whereFrom({ record, places }: Memory): string {
  if (record?.sessionKey !== undefined) return `${day(record.at)} ${visible(record.sessionKey)}`;
  return record === undefined ? visible(places[0]?.path ?? "") : `${day(record.at)} you`;
}

function originText({ record }: Memory): string {
  if (!record) return "its origin is not recorded: it was written into the file directly";
  const how = {
    agent: "the agent was asked to remember it",
    extraction: "extracted when its messages were archived",
    client: "you wrote it",
  };
  const session = record.sessionKey === undefined ? "" : ` in ${visible(record.sessionKey)}`;
  return `${how[record.by]}${session}, ${day(record.at)} UTC`;
}

const minute = (at: number) => `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
const off = "dreaming is off: `gsv config set dreaming.enabled true` turns it on";

/** Sweeps the memories of an agent, or shows what a sweep would do, or the last and next sweep. */
export const dream: Action = async (context, { options }) => {
  const { dryRun = false, status = false } = options as { dryRun?: boolean; status?: boolean };
  if (dryRun && status) throw usage("--dry-run and --status: choose one");
  const agentId = text(options.agent);
  const gateway = await context.gateway();
  if (status) {
    const result = await gateway.request("memory.dreaming", { agentId });
    return context.print(result, statusText(result));
  }
  const result = await gateway.request("memory.dream", { agentId, dryRun });
  if (result.busy)
    return context.print(result, "another sweep of this agent is running; `--status` shows its result");
  context.print(result, [...rows(result.verdicts), summaryText(result.sweep, result.dryRun)].join("\n"));
};

function rows(verdicts: readonly DreamVerdict[]): string[] {
  if (verdicts.length === 0) return [];
  const shown = verdicts.map(({ id, score, hits, queries, days, reason, text: memory }) => [
    id,
    score.toFixed(2),
    `${hits}`,
    `${queries}`,
    `${days}`,
    reason ?? "promoted",
    visible(memory),
  ]);
  return [columns(["ID", "SCORE", "HITS", "QUESTIONS", "DAYS", "RESULT", "MEMORY"], shown)];
}

function summaryText(sweep: DreamSummary, dryRun = false): string {
  const { candidates, promoted, alreadyPromoted, secrets, commit, refused } = sweep;
  const would = dryRun ? "would be promoted" : "promoted";
  const parts = [
    `${promoted} of ${candidates} recalled memories ${would}`,
    ...(alreadyPromoted > 0 ? [`${alreadyPromoted} promoted before`] : []),
    ...(secrets > 0 ? [`${secrets} skipped because they contain a secret`] : []),
    ...(commit === undefined ? [] : [`commit ${commit.slice(0, 7)}`]),
    ...(refused === undefined ? [] : [visible(refused)]),
  ];
  return parts.join("; ");
}

function statusText(status: DreamResults["memory.dreaming"]): string {
  const { enabled, nextAt, last, unfinishedAt } = status;
  const next =
    nextAt === undefined ? "next: when the agent has recalled something" : `next: ${minute(nextAt)}`;
  return [
    last ? `last: ${minute(last.at)}: ${summaryText(last)}` : "last: never",
    ...(unfinishedAt === undefined ? [] : [`unfinished, will be continued: ${minute(unfinishedAt)}`]),
    enabled ? next : off,
  ].join("\n");
}
