import type { DreamResults, DreamSummary, DreamVerdict } from "../../../shared/protocol/memory-schemas.ts";
import { columns, visible } from "../../app/columns.ts";
import { usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";

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
