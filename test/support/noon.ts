/**
 * A timezone in which it is between noon and one o'clock, on the date that it is in UTC: no day ends there, and no
 * session is reset because of the hour, while a test runs.
 */
export function noonTimezone(now = new Date()): string {
  const hours = now.getUTCHours() - 12;
  return `Etc/GMT${hours < 0 ? "" : "+"}${hours}`;
}
