import { setTimeout as delay } from "node:timers/promises";
import { createApp } from "../../../infra/app.ts";
import { Driver } from "../driver.ts";
import { byOperation, sequentialCalls } from "../figures.ts";
import { joinMarks, type TurnKind } from "../marks.ts";
import { type Forked, makeFolder } from "../processes/children.ts";
import { collectMarks } from "../timing.ts";
import { type BundledStack, startBundledStack } from "./bundled-stack.ts";
import { costOf1000Turns } from "./cost.ts";
import { type BilledTemplate, idleCostPerMonth } from "./idle-cost.ts";
import { measureIdleRun } from "./idle-run.ts";

/**
 * Turns of a session before the measured one. A plain turn is priced: after 55, its item has the maximum number of
 * stored ids, so its writes cost as much as in a used session.
 */
const turnsBefore: Record<TurnKind, number> = { plain: 55, tool: 5 };
/** A pause between messages that exceeds the functions' caches of 5 s. Milliseconds. */
const pauseMs = 5500;
/** Duration of the node's tool. By then the agent's invocation has ended. */
const toolMs = 100;
/** Time for the functions' work after the final answer, in ms. */
const settleMs = 400;

/** Counts and prices the AWS calls of one warm turn of each kind. */
export async function countAwsCalls(bundles: string, model: Forked) {
  const stack = await startBundledStack({ name: "counted", bundles, maxInstances: 1 });
  const driver = await Driver.connect(stack);
  await driver.useModel(model.url);
  await driver.lendNode(stack, toolMs);
  const plain = await countTurn(stack, driver, model, "plain");
  const tool = await countTurn(stack, driver, model, "tool");
  const meta_bytes = await stack.metaBytes("agent:main:counted-plain");
  await driver.close();
  await stack.close();
  const idle_run = await measureIdleRun(bundles);
  return {
    aws_calls: { turn: plain.counted, tool_turn: tool.counted },
    cost_per_1000_turns_usd: costOf1000Turns({ ...plain, metaBytes: meta_bytes }),
    idle_run,
    idle_cost_per_month_usd: idleCostPerMonth(templateOver(bundles), idle_run),
    meta_bytes,
  };
}

/** The template of a stage with these bundles, without optional features that cost more. */
function templateOver(bundles: string): BilledTemplate {
  const outdir = makeFolder("template");
  const { app, stack } = createApp(bundles, { outdir, builtinCloudFormationValidation: false });
  return app.synth().getStackByName(stack.stackName).template as BilledTemplate;
}

/** Measures one warm turn: its AWS calls, and the longest invocation of each function in ms. */
async function countTurn(stack: BundledStack, driver: Driver, model: Forked, kind: TurnKind) {
  const session = `counted-${kind}`;
  for (let i = 0; i < turnsBefore[kind]; i++) await driver.turn(session, kind);
  const one = await countOnce(stack, driver, model, session, kind);
  const other = await countOnce(stack, driver, model, session, kind);
  // On a busy machine, a call that the turn does not wait for may finish earlier and be counted as part of the chain.
  return chain(one.counted) <= chain(other.counted) ? one : other;
}

interface Sequential {
  /** The longest chain of calls from the message's frame to the model's request. */
  sequential_to_model: number;
  /** The longest chain from the tool's result to the next request; absent without a tool. */
  sequential_result_to_model?: number;
}

const chain = (counted: Sequential) =>
  counted.sequential_to_model + (counted.sequential_result_to_model ?? 0);

async function countOnce(
  stack: BundledStack,
  driver: Driver,
  model: Forked,
  session: string,
  kind: TurnKind,
) {
  await delay(pauseMs);
  for (const name of Object.keys(stack.durations)) delete stack.durations[name];
  stack.calls.length = 0;
  stack.logged.bytes = 0;
  await collectMarks(model);
  const driven = await driver.turn(session, kind);
  await delay(settleMs);
  const [mark] = joinMarks([driven], await collectMarks(model));
  const calls = [...stack.calls];
  const [first = 0, second = 0] = mark?.asked ?? [];
  const fromResult =
    driven.result === undefined
      ? undefined
      : { sequential_result_to_model: sequentialCalls(calls, driven.result, second) };
  return {
    calls,
    logBytes: stack.logged.bytes,
    counted: {
      sequential_to_model: sequentialCalls(calls, driven.sent, first),
      ...fromResult,
      total: calls.length,
      by_operation: byOperation(calls),
    },
    ms: Object.fromEntries(Object.entries(stack.durations).map(([name, all]) => [name, Math.max(...all)])),
  };
}
