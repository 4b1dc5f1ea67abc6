/** An account with fewer concurrent executions may run out of them. */
const manyExecutions = 100;

/** Executions for frames, webhooks and timers. */
const otherExecutions = 3;

/**
 * How many agents may run at a time, so that other functions still can.
 * @param executions the account's limit of concurrent executions
 * @returns undefined: any number
 */
export function maxAgentsOf(executions: number): number | undefined {
  return executions < manyExecutions ? Math.max(1, executions - otherExecutions) : undefined;
}
