/**
 * A timezone in which it is between noon and one o'clock, on the same date as UTC. So no day ends and no daily reset
 * happens while a test runs.
 */
export function noonTimezone(now = new Date()): string {
  const hours = now.getUTCHours() - 12;
  return `Etc/GMT${hours < 0 ? "" : "+"}${hours}`;
}
