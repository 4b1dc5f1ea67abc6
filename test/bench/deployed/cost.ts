import { memoryMegabytes } from "../../../infra/memory.ts";
import { round } from "../figures.ts";
import type { SeenCall } from "./latency.ts";
import { prices } from "./prices.ts";

/** A plain turn as it is billed: model time, and streamed text for as long. Seconds. */
const modelSeconds = 3;
/** Delta events in that time: functions/agent/reply/deltas.ts sends four a second. */
const deltaEvents = modelSeconds * 4;

const gb = (megabytes: number) => megabytes / 1024;
const memoryGb = {
  socket: gb(memoryMegabytes.socket),
  agent: gb(memoryMegabytes.agent),
  timer: gb(memoryMegabytes.timer),
};

const writes = new Set(["PutItem", "UpdateItem", "DeleteItem"]);

/**
 * The bill of 1,000 turns without tools whose model answers for three seconds, from the calls of one turn.
 * @param ms duration of one invocation by function, with the real services' delays, without the model's time
 */
export function costOf1000Turns(calls: readonly SeenCall[], ms: Record<string, number>) {
  const units = (fits: (call: SeenCall) => boolean) =>
    calls.filter(fits).reduce((sum, call) => sum + (call.units ?? 1), 0);
  const count = (operation: string) => calls.filter((call) => call.operation === operation).length;
  const isTable = (call: SeenCall) => call.service === "dynamodb";
  const gbSeconds =
    memoryGb.socket * ((ms.socket ?? 0) / 1000) + memoryGb.agent * (modelSeconds + (ms.agent ?? 0) / 1000);
  // The message in, the posts of one turn (one of them a delta), and the other deltas.
  const messages = 1 + count("PostToConnection") + deltaEvents - 1;
  const turn = {
    lambda: gbSeconds * prices.lambdaGbSecond + 2 * prices.lambdaInvocation,
    dynamodb:
      units((call) => isTable(call) && writes.has(call.operation)) * prices.dynamodbWrite +
      units((call) => isTable(call) && !writes.has(call.operation)) * prices.dynamodbRead,
    websocket: messages * prices.webSocketMessage + prices.webSocketMinute,
    s3: (count("PutObject") + count("ListObjectsV2")) * prices.s3Put + count("GetObject") * prices.s3Get,
    scheduler: count("CreateSchedule") * prices.schedulerInvocation,
  };
  const by_service = Object.fromEntries(
    Object.entries(turn).map(([service, usd]) => [service, round(usd * 1000, 4)]),
  );
  return { by_service, total: round(Object.values(turn).reduce((sum, usd) => sum + usd, 0) * 1000, 4) };
}

/**
 * What a month costs in which nobody says anything, storage aside: the sweep, once a minute. Its schedule is free, being
 * far below Scheduler's 14 million; Lambda's own free tier, which would take the rest, is not counted.
 */
export function idleCostPerMonth(): number {
  const sweeps = 60 * 24 * 30;
  const seconds = 0.02;
  const each =
    prices.lambdaInvocation + seconds * memoryGb.timer * prices.lambdaGbSecond + 0.5 * prices.dynamodbRead;
  return round(sweeps * each, 4);
}
