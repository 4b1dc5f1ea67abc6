import { round } from "../figures.ts";
import { prices } from "./prices.ts";

const gb = 1024;
const minutesPerMonth = 60 * 24 * 30;

/**
 * Read units of a sweep, and more than a watch needs: the scan of an index of few rows reads half a unit in each of the four
 * partitions that a table on demand begins with.
 */
const idleReadUnits = 2;
/** An idle sweep as `npm run bench` measured it: 13 to 24 ms, on a quiet and on a busy machine. A watch is shorter. */
export const recordedRun = { billed_ms: 21, log_bytes: 435 } as const;
/** Size of Lambda's own lines of an invocation, START, END and REPORT, in bytes. */
const platformLogBytes = 350;

/**
 * Starts of an instance in a month. Lambda ends each after a few hours; this counts one every two hours. A sweep and a watch
 * may overlap, which needs two instances.
 */
const startsPerMonth = 2 * 12 * 30;
/** Duration of INIT, which Lambda bills like an invocation: 0.05 s for the bundle, and the runtime's start. Seconds. */
export const initSeconds = 0.25;

interface Resource {
  Type: string;
  Properties?: Record<string, unknown>;
}

/** The parts of a CloudFormation template that determine its idle cost. */
export interface BilledTemplate {
  Resources: Record<string, Resource>;
}

/** Types of resources that are free while unused, or that `idleCostPerMonth` counts. */
const known = [
  /^AWS::ApiGatewayV2::/,
  /^AWS::IAM::(Role|Policy)$/,
  /^AWS::Lambda::(Function|Permission|Url|EventInvokeConfig)$/,
  /^AWS::SNS::/,
  /^AWS::SQS::/,
  /^AWS::SSM::Parameter$/,
  /^AWS::S3::Bucket(Policy)?$/,
  /^AWS::DynamoDB::GlobalTable$/,
  /^AWS::Scheduler::/,
  /^AWS::Logs::LogGroup$/,
  /^AWS::CloudWatch::Alarm$/,
  // The first two budgets of an account are free.
  /^AWS::Budgets::Budget$/,
];

/** Properties that make a service call KMS, which is paid by the call. The keys of S3, DynamoDB and SQS itself are free. */
const keyProperty = /"(KMSMasterKeyID|KmsMasterKeyId|KmsKeyId|KmsKeyArn|SSESpecification)":/;

/**
 * The price of an idle month, computed from the template, without storage of the owner's data: the alarms, and each
 * schedule with its invocations of the timer function, which read the table once and log, and the starts of that function.
 * Nothing is decrypted: no secret is read, and no key of the owner is in use. Free tiers are not counted.
 * @throws Error for a resource whose idle cost is unknown, or that is paid by the hour
 */
export function idleCostPerMonth(
  { Resources }: BilledTemplate,
  run: { billed_ms: number; log_bytes: number } = recordedRun,
) {
  const all = Object.entries(Resources);
  const unknown = all.filter(([, { Type }]) => !known.some((pattern) => pattern.test(Type)));
  if (unknown.length > 0)
    throw new Error(`the idle cost of ${unknown.map(([id, { Type }]) => `${id} (${Type})`)} is not known`);
  const of = (type: string) =>
    all.filter(([, { Type }]) => Type === type).map(([, one]) => one.Properties ?? {});
  for (const table of of("AWS::DynamoDB::GlobalTable"))
    if (table.BillingMode !== "PAY_PER_REQUEST") throw new Error("a table is paid by the hour");
  const key = keyProperty.exec(JSON.stringify(Resources));
  if (key) throw new Error(`a resource has ${key[1]}: calls of KMS are not counted`);
  const runs = of("AWS::Scheduler::Schedule").map(runsPerMonth);
  const invocations = runs.reduce((sum, count) => sum + count, 0);
  const timer = of("AWS::Lambda::Function").find(({ FunctionName }) => /-timer$/.test(String(FunctionName)));
  const memoryGb = Number(timer?.MemorySize) / gb;
  const loggedGb = (invocations * (run.log_bytes + platformLogBytes)) / 1e9;
  const seconds = (invocations * run.billed_ms) / 1000;
  const isTraced = (timer?.TracingConfig as { Mode?: string } | undefined)?.Mode === "Active";
  const parts = {
    alarm: of("AWS::CloudWatch::Alarm").reduce(
      (sum, alarm) => sum + metricsOf(alarm) * prices.alarmMetric,
      0,
    ),
    lambda: invocations * prices.lambdaInvocation + seconds * memoryGb * prices.lambdaGbSecond,
    init: startsPerMonth * initSeconds * memoryGb * prices.lambdaGbSecond,
    dynamodb: invocations * idleReadUnits * prices.dynamodbRead,
    ...(isTraced ? { traces: invocations * prices.trace } : {}),
    logs: loggedGb * (prices.logsGb + keptMonths(of("AWS::Logs::LogGroup")) * prices.logsStoredGbMonth),
  };
  const by_part = Object.fromEntries(Object.entries(parts).map(([name, usd]) => [name, round(usd, 4)]));
  return {
    by_part,
    total: round(
      Object.values(parts).reduce((sum, usd) => sum + usd, 0),
      4,
    ),
  };
}

/** Invocations per month of a schedule with a rate in minutes. */
function runsPerMonth({ ScheduleExpression }: Record<string, unknown>): number {
  const minutes = Number(/^rate\((\d+) minutes?\)$/.exec(String(ScheduleExpression))?.[1]);
  if (!minutes) throw new Error(`how often ${ScheduleExpression} is in a month is not known`);
  return minutesPerMonth / minutes;
}

/** The metrics that an alarm reads, which determine its price. */
function metricsOf({ MetricName, Metrics }: Record<string, unknown>): number {
  if (MetricName !== undefined) return 1;
  const queries = (Metrics ?? []) as { MetricStat?: unknown }[];
  return queries.filter(({ MetricStat }) => MetricStat !== undefined).length;
}

/** The longest retention of logs in months. @throws Error if a log group has no limit */
function keptMonths(groups: Record<string, unknown>[]): number {
  const days = groups.map(({ RetentionInDays }) => Number(RetentionInDays));
  if (days.some(Number.isNaN)) throw new Error("a log group has no retention limit");
  return Math.max(0, ...days) / 30;
}
