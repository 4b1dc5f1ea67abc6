import { createApp } from "../../infra/app.ts";
import { stackFunctions } from "../../local/lambda/host.ts";
import { type BundledStack, startBundledStack } from "../bench/deployed/bundled-stack.ts";
import { countCalls } from "../bench/deployed/cost.ts";
import { prices } from "../bench/deployed/prices.ts";
import { startModel } from "../bench/measure.ts";
import { type Forked, makeFolder } from "../bench/processes/children.ts";
import type { Counted, Place } from "./place.ts";

/**
 * The emulators of the AWS services, with the deployed bundles. Synthesizes the stage's template, and deploys as the emulators
 * do. They have no quotas and no alarms, and forget everything when they close.
 * @param bundles folder of the functions' bundles
 */
export function localPlace(stage: string, bundles: string): Place {
  let model: Forked | undefined;
  let stack: BundledStack | undefined;
  const overdue: number[] = [];
  const running = () => {
    if (stack === undefined) throw new Error("the local cloud does not run");
    return stack;
  };
  return {
    name: "the emulators",
    idleMs: 0,
    existing: async () => [],
    async deploy() {
      synthesize(stage, bundles);
      model = await startModel();
      stack = await startBundledStack({
        ...{ name: "account", bundles, maxInstances: 4 },
        onLog: (text) => overdue.push(...sweepsIn(text)),
      });
      const { url, token, webhook } = stack;
      return { url, token, webhook, model: { url: model.url, key: "key" } };
    },
    async watched() {
      await running().fire("timer", { kind: "sweep" });
      return { overdue };
    },
    count: async () => countUsed(running()),
    prices: async () => ({ prices, listed: [] }),
    async destroy() {
      await stack?.close();
      await model?.stop();
    },
    destroyCommands: [],
  };
}

/** The sessions that each sweep of these log lines found overdue. */
export function sweepsIn(text: string): number[] {
  const lines = text.split("\n").filter((line) => line.includes("sweep.done"));
  return lines.map((line) => Number(/"overdue":(\d+)/.exec(line)?.[1]));
}

/** @throws Error when a setting is wrong or a bundle is missing */
function synthesize(stage: string, bundles: string): void {
  const props = {
    outdir: makeFolder("template"),
    context: { stage },
    builtinCloudFormationValidation: false,
  };
  createApp(bundles, props).app.synth();
}

/** What the functions have used. Clients count as they do for API Gateway: a message each way. */
function countUsed({ calls, durations, logged }: BundledStack): Counted {
  const runs = Object.entries(durations).flatMap(([name, all]) =>
    all.map((ms) => ({
      ms,
      gb: (stackFunctions[name as keyof typeof stackFunctions]?.memoryMb ?? 0) / 1024,
    })),
  );
  const posts = calls.filter(({ operation }) => operation === "PostToConnection").length;
  const counts = {
    ...countCalls(calls),
    lambdaInvocation: runs.length,
    lambdaGbSecond: runs.reduce((sum, { ms, gb }) => sum + (ms / 1000) * gb, 0),
    webSocketMessage: posts + (durations.socket?.length ?? 0),
    logsGb: logged.bytes / 1e9,
  };
  return {
    counts,
    notMeasured: ["connection minutes", "INIT of functions", "data transfer"],
  };
}
