/** μ$ as dollars: cents, or more digits for less than ten cents. */
export function dollarsOf(micros: number): string {
  const dollars = micros / 1_000_000;
  return `$${dollars.toFixed(Math.abs(dollars) < 0.1 && dollars !== 0 ? 4 : 2)}`;
}
