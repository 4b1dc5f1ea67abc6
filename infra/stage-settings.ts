import { RetentionDays } from "aws-cdk-lib/aws-logs";

/** Settings of a stage. Each is a CDK context key of the same name (`-c stage=prod`). */
export interface Settings {
  /** Part of the names of stack and functions: 1 to 20 lower-case letters, digits and hyphens, starting with a letter. */
  stage: string;
  /** Email address for the alarm and the budget. Without it, only CloudWatch shows the alarm, and there is no budget. */
  alarmEmail: string | undefined;
  /** Retention of function logs in days; a period that CloudWatch Logs supports. */
  logRetentionDays: RetentionDays;
  /**
   * Name of an existing table that replaces the stack's own, for example a restored one: 3 to 255 letters, digits, `_`, `-`
   * and `.`. It needs the keys and indexes of `Storage`. The stack's own table is kept but not used.
   */
  tableName: string | undefined;
  /**
   * Name of an existing bucket that replaces the stack's own, for example one that `gsv deploy destroy` kept: 3 to 63 lower-case
   * letters, digits, `-` and `.`. It keeps its settings, so `oldVersionDays` has no effect; the stack adds a bucket policy.
   */
  bucketName: string | undefined;
  /** The functions write log lines of this level and above: DEBUG, INFO, WARN or ERROR. */
  logLevel: string | undefined;
  /**
   * Whether CloudWatch gets four metrics: time from wake to first token, model time, input and output tokens. $0.30 a month each,
   * $1.20 together, for the hours in which there are values.
   */
  metrics: boolean;
  /**
   * Whether X-Ray traces the functions. $5 per million traces: $0.26 a month for the idle sweep and watch, and two to four traces
   * per turn.
   */
  tracing: boolean;
  /** For this number of days an overwritten or deleted object can be restored, 1 to 3650. */
  oldVersionDays: number;
  /** Rate limit of the WebSocket API in frames and connects per second, 1 to 10000. Above it, the API answers 429. */
  messagesPerSecond: number;
  /** Rate limit of new connections per second, 1 to 10000. Above it, the API answers 429 and runs no function. */
  connectsPerSecond: number;
  /** Rate limit of programs' requests (MCP) per second, 1 to 10000. Above it, the API answers 429 and runs no function. */
  programsPerSecond: number;
  /** Whether connections without an Authorization header are refused. Browsers cannot send one. */
  requireHeader: boolean;
  /**
   * Max concurrent invocations of the webhook function, 1 to 1000. They are reserved: Lambda refuses the setting unless
   * enough unreserved ones remain in the account. A new account, with a limit of often 10, cannot use it.
   */
  webhookConcurrency: number | undefined;
  /**
   * The account's limit of concurrent executions in its region, 4 to 100000, or this gateway's part of it. Below 100, three fewer
   * agents run at a time, and the other sessions wait.
   */
  concurrentExecutions: number;
  /** US dollars per month of the whole account, 1 to 100000, above which `alarmEmail`, if set, gets an email. */
  monthlyBudget: number;
}

type Read = (key: keyof Settings) => unknown;

/**
 * Reads a stage's settings from the app's context; values that come from the command line are strings.
 * @param read the value of a context key, undefined when it is not set
 * @throws Error that lists all faults
 */
export function readSettings(read: Read): Settings {
  const faults: string[] = [];
  const settings: Settings = {
    stage: text(read, faults, "stage", /^[a-z][a-z0-9-]{0,19}$/, "a short lower-case name") ?? "dev",
    alarmEmail: text(read, faults, "alarmEmail", /^[^@\s]+@[^@\s]+$/, "an email address"),
    tableName: text(read, faults, "tableName", /^[a-zA-Z0-9_.-]{3,255}$/, "the name of a table"),
    bucketName: text(
      read,
      faults,
      "bucketName",
      /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
      "the name of a bucket",
    ),
    logRetentionDays: count(read, faults, "logRetentionDays", isRetention) ?? RetentionDays.ONE_MONTH,
    logLevel: text(read, faults, "logLevel", /^(DEBUG|INFO|WARN|ERROR)$/, "DEBUG, INFO, WARN or ERROR"),
    metrics: flag(read, faults, "metrics") ?? false,
    tracing: flag(read, faults, "tracing") ?? false,
    oldVersionDays: count(read, faults, "oldVersionDays", between(1, 3650)) ?? 30,
    messagesPerSecond: count(read, faults, "messagesPerSecond", between(1, 10_000)) ?? 100,
    connectsPerSecond: count(read, faults, "connectsPerSecond", between(1, 10_000)) ?? 10,
    programsPerSecond: count(read, faults, "programsPerSecond", between(1, 10_000)) ?? 20,
    requireHeader: flag(read, faults, "requireHeader") ?? false,
    webhookConcurrency: count(read, faults, "webhookConcurrency", between(1, 1000)),
    concurrentExecutions: count(read, faults, "concurrentExecutions", between(4, 100_000)) ?? 10,
    monthlyBudget: count(read, faults, "monthlyBudget", between(1, 100_000)) ?? 20,
  };
  if (faults.length > 0) throw new Error(`settings: ${faults.join("; ")}`);
  return settings;
}

interface Rule {
  holds(value: number): boolean;
  means: string;
}

const between = (min: number, max: number): Rule => ({
  holds: (value) => value >= min && value <= max,
  means: `a whole number from ${min} to ${max}`,
});

const retentionPeriods = Object.values(RetentionDays).filter(
  (days): days is RetentionDays => typeof days === "number" && days !== RetentionDays.INFINITE,
);
const isRetention: Rule = {
  holds: (value) => retentionPeriods.includes(value),
  means: `one of ${retentionPeriods.join(", ")}`,
};

function text(read: Read, faults: string[], key: keyof Settings, pattern: RegExp, means: string) {
  const value = read(key);
  if (value === undefined) return undefined;
  if (typeof value === "string" && pattern.test(value)) return value;
  faults.push(`${key} must be ${means}, not ${JSON.stringify(value)}`);
  return undefined;
}

function count(read: Read, faults: string[], key: keyof Settings, rule: Rule): number | undefined {
  const value = read(key);
  if (value === undefined) return undefined;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number === "number" && Number.isInteger(number) && rule.holds(number)) return number;
  faults.push(`${key} must be ${rule.means}, not ${JSON.stringify(value)}`);
  return undefined;
}

function flag(read: Read, faults: string[], key: keyof Settings): boolean | undefined {
  const value = read(key);
  if (value === undefined || typeof value === "boolean") return value;
  if (value === "true" || value === "false") return value === "true";
  faults.push(`${key} must be true or false, not ${JSON.stringify(value)}`);
  return undefined;
}
