import { setTimeout as delay } from "node:timers/promises";
import { createApp } from "../../../infra/app.ts";
import { Driver } from "../driver.ts";
import { byOperation, sequentialCalls } from "../figures.ts";
import { joinMarks, type TurnKind } from "../marks.ts";
import { type Forked, makeFolder } from "../processes/children.ts";
import { takeMarks } from "../timing.ts";
import { type BundledStack, startBundledStack } from "./bundled-stack.ts";
import { costOf1000Turns } from "./cost.ts";
import { type BilledTemplate, idleCostPerMonth } from "./idle-cost.ts";

/**
 * Turns that a session has had when one is counted. A plain one is billed: by then its item remembers as many ids as it
 * ever does, so that its writes cost what those of a used session cost.
 */
const turnsBefore: Record<TurnKind, number> = { plain: 55, tool: 5 };
/** Longer than the functions' caches of 5 s, as people talk. Milliseconds. */
const pauseMs = 5500;
/** How long the node's tool takes: the agent's invocation that asked for it has ended by then. */
const toolMs = 100;
/** After the final answer: what the functions do behind it, ms. */
const settleMs = 400;

/** The AWS calls of one warm turn of each kind, some seconds after the last one, and what they cost. */
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
  return {
    aws_calls: { turn: plain.counted, tool_turn: tool.counted },
    cost_per_1000_turns_usd: costOf1000Turns({ ...plain, metaBytes: meta_bytes }),
    idle_cost_per_month_usd: idleCostPerMonth(templateOver(bundles)),
    meta_bytes,
  };
}

/** The template of a stage with these bundles, and with nothing that costs more only because it was asked for. */
function templateOver(bundles: string): BilledTemplate {
  const outdir = makeFolder("template");
  const { app, stack } = createApp(bundles, { outdir, builtinCloudFormationValidation: false });
  return app.synth().getStackByName(stack.stackName).template as BilledTemplate;
}

/** One warm turn: its AWS calls, and the longest invocation of each function, ms. */
async function countTurn(stack: BundledStack, driver: Driver, model: Forked, kind: TurnKind) {
  const session = `counted-${kind}`;
  for (let i = 0; i < turnsBefore[kind]; i++) await driver.turn(session, kind);
  const one = await countOnce(stack, driver, model, session, kind);
  const other = await countOnce(stack, driver, model, session, kind);
  // On a busy machine a call that nothing waits for may end before the request has left, and is counted as one more.
  return chain(one.counted) <= chain(other.counted) ? one : other;
}

interface Sequential {
  /** Longest chain of calls from the message's frame to the model's request. */
  sequential_to_model: number;
  /** The same from the tool's result to the next request; absent for a turn without a tool. */
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
  await takeMarks(model);
  const driven = await driver.turn(session, kind);
  await delay(settleMs);
  const [mark] = joinMarks([driven], await takeMarks(model));
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
