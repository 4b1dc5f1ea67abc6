import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { updateConfigFile } from "../../cli/app/config-file.ts";
import { Driver } from "../bench/driver.ts";
import { expectedDollars, priced } from "./bill.ts";
import { type Gsv, gsvIn } from "./gsv.ts";
import { type IdleNode, startIdleNode } from "./idle-node.ts";
import type { Counts, Deployed, Place } from "./place.ts";
import * as steps from "./steps.ts";

/** The result of a run. Amounts in dollars are those of list prices, without free tiers. */
export interface Report {
  place: string;
  stage: string;
  expectedDollars: number;
  steps: steps.Step[];
  /** Answered messages. */
  turns: number;
  counts: Counts;
  /** What is billed but is in neither `counts` nor `dollars`. */
  notMeasured: string[];
  /** The price of each of `counts`. */
  bill: Counts;
  /** The sum of `bill`, and the first answer of the default model. */
  dollars: number;
  /** The prices that AWS's price list named. The others are published ones of us-east-1. */
  listedPrices: string[];
  /** Whether nothing is left. */
  destroyed: boolean;
}

export interface RunOptions {
  stage: string;
  turns: number;
  keep: boolean;
  /** Receives progress, line by line. */
  say(line: string): void;
  /** Ends the run early: everything is destroyed, and the report lacks the remaining steps. */
  interrupted?: AbortSignal;
}

/** Deploys, follows the steps, answers the turns, counts, and destroys. @throws Error when something of the stage exists */
export async function runAccount(place: Place, options: RunOptions): Promise<Report> {
  const { stage, turns, say } = options;
  const expected = expectedDollars(turns);
  say(
    `npm run account: gsv-${stage} in ${place.name}, ${turns} turns; it costs at most $${expected.toFixed(2)}`,
  );
  const existing = await place.existing();
  if (existing.length > 0)
    throw new Error(
      `the stage ${stage} exists (${existing.join(", ")}) and was not touched; choose another --stage`,
    );
  const folder = await mkdtemp(join(tmpdir(), "gsv-account-"));
  const report: Report = {
    ...{ place: place.name, stage, expectedDollars: expected, steps: [], turns: 0 },
    ...{ counts: {}, notMeasured: [], bill: {}, dollars: 0, listedPrices: [], destroyed: false },
  };
  try {
    await Promise.race([followSteps(place, options, report, folder), untilAborted(options.interrupted)]);
  } finally {
    report.destroyed = await destroy(place, options);
    await rm(folder, { recursive: true, force: true });
  }
  report.steps.sort((one, other) => one.number - other.number);
  return report;
}

/** Runs the steps of docs/first-hour.md. The node and the sweep are looked at last, when they have run for some time. */
async function followSteps(
  place: Place,
  { turns, say, interrupted }: RunOptions,
  report: Report,
  folder: string,
): Promise<void> {
  const step = async (number: number, title: string, check: () => Promise<string>) => {
    if (interrupted?.aborted) return false;
    const done = await steps.runStep(number, title, check);
    if (interrupted?.aborted) return false;
    report.steps.push(done);
    say(`${{ passed: "✓", failed: "✗", skipped: "-" }[done.outcome]} ${number} ${title}: ${done.detail}`);
    return done.outcome !== "failed";
  };
  if (!(await step(1, "quotas", () => steps.checkQuotas(place)))) return;
  let deployed: Deployed | undefined;
  await step(2, "deploy", async () => {
    deployed = await place.deploy();
    return `${deployed.url}, ${deployed.webhook}`;
  });
  if (deployed === undefined || interrupted?.aborted) return;
  const { url, token, model, firstAnswer } = deployed;
  const gateway = deployed;
  const config = join(folder, "config.toml");
  await updateConfigFile(config, { gateway: { url, token } });
  const gsv: Gsv = gsvIn(folder, config, () => {});
  const driver = await Driver.connect(gateway);
  let idle: IdleNode | undefined;
  try {
    await driver.useModel(model.url, model.key);
    await step(3, "connect", () => steps.checkStatus(gsv));
    await step(4, "the first answer", () => steps.checkFirstAnswer(gsv, gateway));
    await step(6, "a node that leaves", () => steps.checkLostNode(gateway));
    await step(7, "a photo", () => steps.checkPhoto(gsv, folder));
    await step(8, "the webhook's address", () => steps.checkWebhook(gateway));
    idle = await startIdleNode(folder, config);
    const node = idle;
    const { answered, failure } = await steps.answerTurns(driver, turns, (count) => say(`${count} turns`));
    report.turns = answered;
    await step(5, "the sweep and the alarm", () => steps.checkSweep(place));
    await step(9, "an idle node", () => steps.checkIdleNode(gsv, node, place));
    await step(10, "the bill", async () => {
      await bill(place, report, firstAnswer?.dollars);
      if (answered < turns) throw new Error(`${turns - answered} of ${turns} turns failed: ${failure}`);
      if (report.dollars > report.expectedDollars)
        throw new Error(`$${report.dollars} is more than expected`);
      return `$${report.dollars}; not measured: ${report.notMeasured.join(", ")}`;
    });
  } finally {
    await idle?.stop();
    await driver.close();
  }
}

function untilAborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
}

async function bill(place: Place, report: Report, firstAnswer = 0): Promise<void> {
  const [{ counts, notMeasured }, { prices, listed }] = await Promise.all([place.count(), place.prices()]);
  const { bill, dollars } = priced(counts, prices);
  Object.assign(report, { counts, notMeasured, bill, listedPrices: listed });
  report.dollars = Math.round((dollars + firstAnswer) * 1e4) / 1e4;
}

/** @returns whether nothing is left */
async function destroy(place: Place, { keep, say }: RunOptions): Promise<boolean> {
  const commands = place.destroyCommands.join("\n  ");
  if (keep) {
    say(`kept; this deletes it:\n  ${commands}`);
    return false;
  }
  try {
    await place.destroy();
    const left = await place.existing();
    if (left.length === 0) return true;
    throw new Error(left.join(", "));
  } catch (error) {
    say(`not everything is deleted (${(error as Error).message}); run:\n  ${commands}`);
    return false;
  }
}
