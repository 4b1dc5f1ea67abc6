import { setTimeout as delay } from "node:timers/promises";
import { formRequest, type SendSigned, xmlValue } from "../../../shared/aws/signed-request.ts";
import type { StageStack } from "../../../shared/aws/stage-stack.ts";
import type { Counted, Counts } from "../place.ts";

/** A metric of CloudWatch that counts what is billed. */
export interface Metric {
  namespace: string;
  name: string;
  dimensions: Record<string, string>;
  /** The price of what it counts. */
  price: keyof Counts;
  /** Billed amounts per unit of the metric. */
  times: number;
}

/** The metrics of a stack's resources. Names of functions may be generated, so Lambda is asked for their memory. */
export async function metricsOf(
  send: SendSigned,
  region: string,
  { resources }: StageStack,
): Promise<Metric[]> {
  const named = (...types: string[]) =>
    resources.flatMap(({ type, name }) => (types.includes(type) && name ? [name] : []));
  const functions = named("AWS::Lambda::Function").map(async (FunctionName) => {
    const path = `/2015-03-31/functions/${encodeURIComponent(FunctionName)}/configuration`;
    const { MemorySize } = JSON.parse(await send({ service: "lambda", region, method: "GET", path })) as {
      MemorySize: number;
    };
    const of = { namespace: "AWS/Lambda", dimensions: { FunctionName } };
    return [
      { ...of, name: "Invocations", price: "lambdaInvocation", times: 1 },
      // Of milliseconds, without INIT.
      { ...of, name: "Duration", price: "lambdaGbSecond", times: MemorySize / 1024 / 1000 },
    ] as const;
  });
  const tables = named("AWS::DynamoDB::GlobalTable", "AWS::DynamoDB::Table").flatMap((TableName) =>
    [
      { TableName },
      ...indexes.map((GlobalSecondaryIndexName) => ({ TableName, GlobalSecondaryIndexName })),
    ].flatMap((dimensions) => {
      const of = { namespace: "AWS/DynamoDB", dimensions, times: 1 };
      return [
        { ...of, name: "ConsumedWriteCapacityUnits", price: "dynamodbWrite" },
        { ...of, name: "ConsumedReadCapacityUnits", price: "dynamodbRead" },
      ] as const;
    }),
  );
  const apis = named("AWS::ApiGatewayV2::Api").map((ApiId) => ({
    ...{ namespace: "AWS/ApiGateway", name: "MessageCount", dimensions: { ApiId } },
    ...({ price: "webSocketMessage", times: 1 } as const),
  }));
  const groups = named("AWS::Scheduler::ScheduleGroup").map((ScheduleGroup) => ({
    ...{ namespace: "AWS/Scheduler", name: "InvocationAttemptCount", dimensions: { ScheduleGroup } },
    ...({ price: "schedulerInvocation", times: 1 } as const),
  }));
  const logs = named("AWS::Logs::LogGroup").map((LogGroupName) => ({
    ...{ namespace: "AWS/Logs", name: "IncomingBytes", dimensions: { LogGroupName } },
    ...({ price: "logsGb", times: 1e-9 } as const),
  }));
  return [...(await Promise.all(functions)).flat(), ...tables, ...apis, ...groups, ...logs];
}

/** The table's indexes, which have metrics of their own: infra/constructs/storage.ts. */
const indexes = ["list", "due"];

/** Metrics appear some minutes late. */
const settleMs = 60_000;
const maxReads = 15;

const notMeasured = [
  "requests to S3, whose metrics are paid",
  "connection minutes",
  "INIT of functions",
  "calls of KMS",
  "data transfer",
  "the scripted model",
];

/** Sums metrics from a time (epoch ms) until now. Reads them until two reads a minute apart agree. */
export async function countMetrics(
  send: SendSigned,
  region: string,
  metrics: readonly Metric[],
  from: number,
  pauseMs = settleMs,
): Promise<Counted> {
  const until = Date.now();
  let before: string | undefined;
  for (let reads = 1; ; reads++) {
    const counts = await readMetrics(send, region, metrics, { from, until });
    const read = JSON.stringify(counts);
    if ((read === before && counts.lambdaInvocation) || reads === maxReads) return { counts, notMeasured };
    before = read;
    await delay(pauseMs);
  }
}

async function readMetrics(
  send: SendSigned,
  region: string,
  metrics: readonly Metric[],
  { from, until }: { from: number; until: number },
): Promise<Counts> {
  const call = {
    ...{ Action: "GetMetricData", Version: "2010-08-01" },
    ...{ StartTime: new Date(from).toISOString(), EndTime: new Date(until).toISOString() },
    ...Object.assign({}, ...metrics.map(queryOf)),
  };
  const counts: Counts = {};
  let NextToken: string | undefined;
  do {
    const page = { ...call, ...(NextToken ? { NextToken } : {}) };
    const text = await send(formRequest("monitoring", region, page));
    for (const [, index, values = ""] of text.matchAll(
      /<Id>m(\d+)<\/Id>.*?<Values(?:\/>|>(.*?)<\/Values>)/gs,
    )) {
      const metric = metrics[Number(index)];
      if (metric === undefined) continue;
      const sum = [...values.matchAll(/<member>([^<]+)<\/member>/g)].reduce(
        (all, [, one]) => all + Number(one),
        0,
      );
      counts[metric.price] = (counts[metric.price] ?? 0) + sum * metric.times;
    }
    NextToken = xmlValue(text, "NextToken");
  } while (NextToken);
  return counts;
}

/** A query for a metric's sums per minute. */
function queryOf({ namespace, name, dimensions }: Metric, index: number): Record<string, string> {
  const at = `MetricDataQueries.member.${index + 1}`;
  const ofMetric = `${at}.MetricStat.Metric`;
  return {
    [`${at}.Id`]: `m${index}`,
    [`${at}.MetricStat.Period`]: "60",
    [`${at}.MetricStat.Stat`]: "Sum",
    [`${ofMetric}.Namespace`]: namespace,
    [`${ofMetric}.MetricName`]: name,
    ...Object.assign(
      {},
      ...Object.entries(dimensions).map(([Name, Value], number) => ({
        [`${ofMetric}.Dimensions.member.${number + 1}.Name`]: Name,
        [`${ofMetric}.Dimensions.member.${number + 1}.Value`]: Value,
      })),
    ),
  };
}
