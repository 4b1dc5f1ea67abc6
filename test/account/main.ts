import { untilSignal } from "../../cli/app/signals.ts";
import { chooseAccount } from "../../cli/gateway/stage-access.ts";
import { buildBundles } from "../bench/deployed/bundles.ts";
import { cleanUpAtExit } from "../bench/processes/children.ts";
import { openAwsPlace } from "./aws/aws-place.ts";
import { localPlace } from "./local-place.ts";
import { readOptions, usage } from "./options.ts";
import { type Report, runAccount } from "./run.ts";

const say = (line: string) => process.stderr.write(`${line}\n`);

/** @returns the exit code */
async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options.help) {
    console.log(usage);
    return 0;
  }
  const interrupted = new AbortController();
  void untilSignal().received.then(() => {
    say("interrupted: deleting what was made");
    interrupted.abort();
  });
  cleanUpAtExit({ atSignals: false });
  if (!options.local) chooseAccount(options.profile, options.region);
  const place = options.local
    ? localPlace(options.stage, (await buildBundles()).folder)
    : await openAwsPlace(options.stage, say);
  const report = await runAccount(place, { ...options, say, interrupted: interrupted.signal });
  console.log(options.json ? JSON.stringify(report) : summary(report));
  const passed = report.steps.length === 10 && report.steps.every(({ outcome }) => outcome !== "failed");
  return passed && (report.destroyed || options.keep) ? 0 : 1;
}

function summary({ steps, turns, bill, dollars, destroyed }: Report): string {
  const passed = steps.filter(({ outcome }) => outcome === "passed").length;
  const skipped = steps.filter(({ outcome }) => outcome === "skipped").length;
  return [
    `${passed} steps passed, ${skipped} skipped, ${10 - passed - skipped} failed or not reached; ${turns} turns answered`,
    ...Object.entries(bill).map(([name, amount]) => `  ${name.padEnd(20)} $${amount}`),
    `  ${"together".padEnd(20)} $${dollars}`,
    destroyed ? "everything is deleted" : "not everything is deleted",
  ].join("\n");
}

try {
  process.exit(await main());
} catch (error) {
  say(`account: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}
