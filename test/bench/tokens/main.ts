import { parseArgs } from "node:util";
import { setLogOutput } from "../../../shared/runtime/log.ts";
import baseline from "./baseline.json" with { type: "json" };
import { type DayName, dayNames, eventsOf } from "./day.ts";
import type { Wire } from "./prices.ts";
import { type DayBill, replay } from "./replay.ts";

const usage = `Usage: npm run bench:tokens -- [--json] [--day NAME]

Replays stored days against a fake Anthropic and a fake OpenAI that bill as the providers do, and prints what a day costs: now, at
least ("ideal"), and at commit ${baseline.commit} ("before").

  --day NAME   only this day: ${dayNames.join(", ")}
  --json       print JSON`;

const { values } = parseArgs({
  options: { json: { type: "boolean" }, day: { type: "string" }, help: { type: "boolean" } },
});
if (values.help) console.log(usage);
else await run();

async function run(): Promise<void> {
  setLogOutput(() => {});
  const wires: Wire[] = ["anthropic", "openai"];
  const days: Record<string, Record<string, DayBill & { beforeUsd: number }>> = {};
  for (const day of dayNames.filter((name) => values.day === undefined || values.day === name))
    for (const wire of wires) {
      process.stderr.write(`${day}, ${wire} …\n`);
      const bill = await replay(eventsOf(day), wire);
      days[day] = { ...days[day], [wire]: { ...bill, beforeUsd: beforeOf(day, wire) } };
    }
  if (values.json) console.log(JSON.stringify({ days }));
  else for (const [day, bills] of Object.entries(days)) console.log(`${day}\n${lines(bills)}`);
}

function beforeOf(day: DayName, wire: Wire): number {
  return baseline.usd[day][wire];
}

function lines(bills: Record<string, DayBill & { beforeUsd: number }>): string {
  return Object.entries(bills)
    .map(([wire, { requests, newShare, usd, idealUsd, beforeUsd }]) => {
      const compared = `ideal $${idealUsd.toFixed(2)}, before $${beforeUsd.toFixed(2)}`;
      const share = `${(newShare * 100).toFixed(1)} % new`;
      return `  ${wire.padEnd(10)} $${usd.toFixed(2)} (${compared}), ${requests} requests, ${share}`;
    })
    .join("\n");
}
