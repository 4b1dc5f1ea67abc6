/** `30m`, `2h30m`, `1d`; units in the order d, h, m, s. `0`, with or without a unit, is a zero duration. */
export const durationPattern = /^(?:0|(?=\d)(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?)$/;

/** Milliseconds of the units, in the order of the pattern. */
const unitMs = [86_400_000, 3_600_000, 60_000, 1000];

/** A duration in milliseconds. @param text matches `durationPattern`; anything else is 0 */
export function durationMs(text: string): number {
  const amounts = durationPattern.exec(text)?.slice(1) ?? [];
  return amounts.reduce((sum, amount = "0", unit) => sum + Number(amount) * (unitMs[unit] ?? 0), 0);
}
