/** Prices in us-east-1, in US dollars, from the services' public price pages as of 2026-11. Free tiers are left out. */
export const prices = {
  /** API Gateway WebSocket: a message of up to 32 KB, in either direction. */
  webSocketMessage: 1.0 / 1e6,
  webSocketMinute: 0.25 / 1e6,
  /** Lambda on arm64. */
  lambdaGbSecond: 0.0000133334,
  lambdaInvocation: 0.2 / 1e6,
  /** DynamoDB on demand: a write unit (1 KB), a read unit (4 KB strongly consistent). */
  dynamodbWrite: 0.625 / 1e6,
  dynamodbRead: 0.125 / 1e6,
  /** KMS: a call with a symmetric key, such as the decryption of an SSM parameter. */
  kmsCall: 0.03 / 10_000,
  /** S3 standard: put, copy, post and list; get and others. */
  s3Put: 0.005 / 1000,
  s3Get: 0.0004 / 1000,
  /** EventBridge Scheduler, without its 14 million free invocations a month. */
  schedulerInvocation: 1.0 / 1e6,
  /** CloudWatch Logs: writing a gigabyte, and storing one for a month. */
  logsGb: 0.5,
  logsStoredGbMonth: 0.03,
  /** X-Ray: a recorded trace. */
  trace: 5 / 1e6,
  /** CloudWatch: one metric of an alarm for a month. */
  alarmMetric: 0.1,
} as const;

/** Prices of the same services, in US dollars. */
export type Prices = Record<keyof typeof prices, number>;
