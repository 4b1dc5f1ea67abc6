import {
  type UsageGroup,
  type UsageGroupEntry,
  type UsageResult,
  usageGroups,
} from "../../../shared/protocol/usage.ts";
import { addDays } from "../../../shared/runtime/zoned-time.ts";
import { dollarsOf } from "../../../shared/spend/dollars.ts";
import { spentLines } from "../../../shared/spend/usage-text.ts";
import { columns, visible } from "../../app/columns.ts";
import { usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { didYouMean } from "../../app/suggestion.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";

export const showUsage: Action = async (context, { options }) => {
  const by = groupOf(text(options.by) ?? "day");
  const given = text(options.since);
  const isDate = given === undefined || isDay(given);
  const daysBack = /^([1-9]\d{0,2})d$/.exec(given ?? "")?.[1];
  if (!isDate && daysBack === undefined)
    throw usage(`--since must be a day such as 2026-11-01, or a number of days such as 7d, not ${given}`);
  const gateway = await context.gateway();
  const since = isDate ? given : await daysAgo(gateway, Number(daysBack) - 1);
  const found = await gateway.request("usage.get", { by, ...(since ? { since } : {}) });
  context.print(found, usageText(found, by));
};

function isDay(given: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(given) && !Number.isNaN(Date.parse(given));
}

function groupOf(name: string): UsageGroup {
  const found = usageGroups.find((group) => group === name);
  if (found === undefined)
    throw usage(`--by must be one of ${usageGroups.join(", ")}, not ${name}${didYouMean(name, usageGroups)}`);
  return found;
}

/** A day in the gateway's timezone. */
async function daysAgo(gateway: Gateway, count: number): Promise<string> {
  const { today } = await gateway.request("usage.get", {});
  return addDays(today.date, -count);
}

function usageText(found: UsageResult, by: UsageGroup): string {
  const { groups = [], restDollars = 0, total } = found;
  const rows = groups.map((group) => rowOf(group, by));
  if (restDollars > 0) rows.push(["(in progress or interrupted)", inDollars(restDollars)]);
  const header = [by.toUpperCase(), "COST", "CALLS", "INPUT", "FROM CACHE", "OUTPUT", "CACHE SAVED"];
  const shown = by === "session" ? header.slice(0, 2) : header;
  const table = rows.length === 0 ? `nothing since ${total.since}` : columns(shown, rows);
  return [...spentLines(found), "", table].join("\n");
}

function rowOf({ name, dollars, ...figures }: UsageGroupEntry, by: UsageGroup): string[] {
  const cells = [visible(name) || (by === "session" ? "(other sessions)" : `(no ${by})`), inDollars(dollars)];
  const { calls, input = 0, output = 0, cacheRead = 0, cacheWrite = 0, savedDollars = 0 } = figures;
  if (calls === undefined) return cells;
  const all = input + cacheRead + cacheWrite;
  const share = all === 0 ? "-" : `${Math.round((100 * cacheRead) / all)}%`;
  const counts = [calls, all].map((count) => count.toLocaleString("en-US"));
  return [...cells, ...counts, share, output.toLocaleString("en-US"), inDollars(savedDollars)];
}

const inDollars = (dollars: number) => dollarsOf(Math.round(dollars * 1_000_000));
