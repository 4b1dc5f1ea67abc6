import { memoryMegabytes } from "../../../infra/constructs/gateway-functions.ts";
import { round } from "../figures.ts";
import { initSeconds } from "./idle-cost.ts";
import type { SeenCall } from "./latency.ts";
import { prices } from "./prices.ts";

/** Model time of a priced plain turn, during which text is streamed. Seconds. */
const modelSeconds = 3;
/** Delta events in that time: functions/agent/reply/deltas.ts sends four a second. */
const deltaEvents = modelSeconds * 4;

/** Interval of lease renewals while the model answers. Seconds. */
const renewSeconds = 2;

const gb = (megabytes: number) => megabytes / 1024;
const memoryGb = {
  socket: gb(memoryMegabytes.socket),
  agent: gb(memoryMegabytes.agent),
};

const writes = new Set(["PutItem", "UpdateItem", "DeleteItem"]);

/** The billed amounts of AWS calls, by their price. */
export function countCalls(calls: readonly SeenCall[]) {
  const count = (...operations: string[]) =>
    calls.filter((call) => operations.includes(call.operation)).length;
  const units = (isWrite: boolean) =>
    calls
      .filter((call) => call.service === "dynamodb" && writes.has(call.operation) === isWrite)
      .reduce((sum, call) => sum + (call.units ?? 1), 0);
  return {
    dynamodbWrite: units(true),
    dynamodbRead: units(false),
    s3Put: count("PutObject", "ListObjectsV2"),
    s3Get: count("GetObject"),
    schedulerInvocation: count("CreateSchedule"),
    kmsCall: count("GetParameter"),
  };
}

/** Size of Lambda's own log lines for an invocation (START, END and REPORT), in bytes. */
const platformLogBytes = 350;

interface Turn {
  calls: readonly SeenCall[];
  /** Duration of one invocation by function, with the real services' delays but without the model's time. */
  ms: Record<string, number>;
  /** Bytes that the functions logged. */
  logBytes: number;
  /** Size of the session's item, which the agent's renewals write. */
  metaBytes: number;
}

const perThousand = (turn: Record<string, number>) => {
  const by_service = Object.fromEntries(
    Object.entries(turn).map(([service, usd]) => [service, round(usd * 1000, 4)]),
  );
  return { by_service, total: round(Object.values(turn).reduce((sum, usd) => sum + usd, 0) * 1000, 4) };
};

/** The price of 1,000 turns without tools, with a model that answers for three seconds and one listening client. */
export function costOf1000Turns({ calls, ms, logBytes, metaBytes }: Turn) {
  const counted = countCalls(calls);
  const gbSeconds =
    memoryGb.socket * ((ms.socket ?? 0) / 1000) + memoryGb.agent * (modelSeconds + (ms.agent ?? 0) / 1000);
  const posts = calls.filter(({ operation }) => operation === "PostToConnection").length;
  // The incoming message, the posts of one turn (one of them a delta), and the other deltas.
  const messages = 1 + posts + deltaEvents - 1;
  const lambda = gbSeconds * prices.lambdaGbSecond + 2 * prices.lambdaInvocation;
  // While the model answers: lease renewals, and a read of the clients every second.
  const answerSecond = {
    lambda: memoryGb.agent * prices.lambdaGbSecond,
    dynamodb: (Math.ceil(metaBytes / 1024) / renewSeconds) * prices.dynamodbWrite + prices.dynamodbRead,
    websocket: 4 * prices.webSocketMessage,
  };
  const turn = perThousand({
    lambda,
    dynamodb: counted.dynamodbWrite * prices.dynamodbWrite + counted.dynamodbRead * prices.dynamodbRead,
    dynamodb_answer: modelSeconds * answerSecond.dynamodb,
    websocket: messages * prices.webSocketMessage + prices.webSocketMinute,
    s3: counted.s3Put * prices.s3Put + counted.s3Get * prices.s3Get,
    scheduler: counted.schedulerInvocation * prices.schedulerInvocation,
    logs: ((logBytes + 2 * platformLogBytes) / 1e9) * prices.logsGb,
  });
  // One post answers the request; the others are events, which every listening client receives.
  const listener = (posts - 1 + deltaEvents - 1) * prices.webSocketMessage + prices.webSocketMinute;
  return {
    ...turn,
    each_more_listening_client: round(listener * 1000, 4),
    // An instance starts, or reads the provider's key again, which it keeps for a minute.
    each_cold_start: round(
      1000 * initSeconds * (memoryGb.socket + memoryGb.agent) * prices.lambdaGbSecond,
      4,
    ),
    each_read_of_a_key: round(1000 * prices.kmsCall, 4),
    each_more_second_of_answer: perThousand(answerSecond).total,
  };
}
