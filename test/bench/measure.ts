import { startBundledStack } from "./deployed/bundled-stack.ts";
import { Driver } from "./driver.ts";
import { percentiles, round } from "./figures.ts";
import { now } from "./marks.ts";
import type { Options } from "./options.ts";
import { type Forked, forkScript } from "./processes/children.ts";
import { type GatewayProcess, startGateway } from "./processes/gateway-process.ts";
import { profiled } from "./processes/profile.ts";
import { oneByOne, type Timed, timeTurns } from "./timing.ts";

type Say = (text: string) => void;

const starts = 3;

export function startModel(): Promise<Forked> {
  return forkScript(new URL("./processes/model-process.ts", import.meta.url));
}

/** Measures turns of the shipped gateway, or with `--aws-latency` of the deployed bundles, and of the floor. */
export async function measureTurns(options: Options, model: Forked, bundles: string, say: Say) {
  const process = await forkScript(new URL("./processes/floor-process.ts", import.meta.url), [model.url]);
  const floor = { driver: await Driver.open(process.url), process };
  const timed = options.awsLatency
    ? await timeBundles(options, model, floor, bundles, say)
    : await timeGateway(options, model, floor, say);
  await floor.driver.close();
  await process.stop();
  const { floor_turn_ms, floor_turns_per_s } = timed;
  return {
    ...timed,
    turn_in_floors: round(timed.turn_ms.p50 / floor_turn_ms.p50),
    tool_turn_in_floors: round(timed.tool_turn_ms.p50 / floor_turn_ms.p50),
    turns_per_s_share_of_floor: round(timed.turns_per_s_20_sessions / floor_turns_per_s, 4),
    tool_turns_per_s_share_of_floor: round(timed.tool_turns_per_s_20_sessions / floor_turns_per_s, 4),
  };
}

/** Profiles the CPU of a separate gateway during turns without a tool. */
export async function profileTurns(options: Options, model: Forked) {
  await prepare(options, model);
  const gateway = await startGateway({ ...options, command: options.gateway, inspectable: true });
  await oneByOne(gateway.driver, "plain", 50, "warm-profile");
  const shares = await profiled(gateway, () => oneByOne(gateway.driver, "plain", options.turns, "profile"));
  await gateway.stop();
  return shares;
}

/** The gateway's memory in MiB after each hundred of `turns` turns without a tool. */
export async function soak(options: Options, turns: number, model: Forked, say: Say) {
  await prepare(options, model);
  const gateway = await startGateway({ ...options, command: options.gateway });
  const soak_rss_mb: Record<string, number> = { "0": round(gateway.usage().rssMb, 1) };
  for (let done = 0; done < turns; ) {
    const count = Math.min(100, turns - done);
    await oneByOne(gateway.driver, "plain", count, "soak");
    done += count;
    soak_rss_mb[done] = round(gateway.usage().rssMb, 1);
    say(`${done} turns: ${soak_rss_mb[done]} MiB`);
  }
  await gateway.stop();
  return { soak_rss_mb };
}

async function timeGateway(options: Options, model: Forked, floor: Timed["floor"], say: Say) {
  say("starting …");
  await prepare(options, model);
  const ready: number[] = [];
  const firstAnswer: number[] = [];
  let gateway: GatewayProcess | undefined;
  for (let i = 0; i < starts; i++) {
    await gateway?.stop();
    gateway = await startGateway({ ...options, command: options.gateway });
    ready.push(gateway.readyMs);
    await gateway.driver.turn(`start-${i}`, "plain");
    firstAnswer.push(now() - gateway.startedAt);
  }
  if (gateway === undefined) throw new Error("no gateway was started");
  const { driver, usage } = gateway;
  await driver.lendNode(gateway);
  const timed = await timeTurns({ driver, model, floor, usage }, options.turns, say);
  await gateway.stop();
  return {
    ...timed,
    start_to_ready_ms: round(percentiles(ready).p50, 1),
    start_to_first_answer_ms: round(percentiles(firstAnswer).p50, 1),
  };
}

/**
 * The first start, which creates the data folder and the agent's files, and may build the gateway. The bench's model is
 * configured when it ends, because the end of its input stops it only after the setup.
 */
async function prepare(options: Options, model: Forked): Promise<void> {
  const first = await startGateway({ ...options, command: options.gateway, modelUrl: model.url });
  await first.stop();
}

async function timeBundles(
  options: Options,
  model: Forked,
  floor: Timed["floor"],
  bundles: string,
  say: Say,
) {
  const stack = await startBundledStack({ name: "timed", bundles, maxInstances: 20 });
  const driver = await Driver.connect(stack);
  await driver.useModel(model.url);
  await driver.lendNode(stack);
  const timed = await timeTurns({ driver, model, floor }, options.turns, say);
  await driver.close();
  await stack.close();
  return timed;
}
