import { parseArgs } from "node:util";
import { setLogOutput } from "../../../shared/runtime/log.ts";
import { type DayFigures, Year } from "./year.ts";

const { values } = parseArgs({
  options: { days: { type: "string" }, turns: { type: "string" }, json: { type: "boolean" } },
});
const [days, turns] = [Number(values.days ?? 365), Number(values.turns ?? 20)];
setLogOutput(() => {});

const began = performance.now();
const year = new Year(turns);
while (year.days.length < days) await year.live();
const seconds = (performance.now() - began) / 1000;

/** The mean over a week. */
const week = (of: readonly DayFigures[]) => {
  const mean = (figure: (one: DayFigures) => number) =>
    of.reduce((sum, one) => sum + figure(one), 0) / of.length;
  const names = [...new Set(of.flatMap(({ calls }) => Object.keys(calls)))].sort();
  return {
    calls: Math.round(mean(({ calls }) => Object.values(calls).reduce((sum, count) => sum + count, 0))),
    usd: mean(({ usd }) => usd),
    modelTokens: Math.round(mean(({ modelTokens }) => modelTokens)),
    sweepCalls: Math.round(mean(({ sweepCalls }) => sweepCalls)),
    sweepUsd: mean(({ sweepUsd }) => sweepUsd),
    ...Object.fromEntries(names.map((name) => [name, Math.round(mean(({ calls }) => calls[name] ?? 0))])),
  };
};
const weeks = {
  first: week(year.days.slice(1, 8)),
  hundredth: week(year.days.slice(100, 107)),
  last: week(year.days.slice(-7)),
};
const stored = Object.fromEntries(Object.entries(year.stored()).sort());
if (values.json) process.stdout.write(`${JSON.stringify({ days, turns, seconds, weeks, stored })}\n`);
else {
  console.table(weeks);
  console.table(stored);
  process.stdout.write(`${days} days of ${turns} turns in ${seconds.toFixed(1)} s\n`);
}
