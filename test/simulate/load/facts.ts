/** Facts that users tell, have forgotten and recall. No two are alike, so that forgetting one keeps the others. */
export const facts = [
  "The spare key hangs behind the blue door",
  "Ada's dentist works on Linden Street",
  "The cellar pump needs oil each spring",
  "Max prefers tea without sugar in winter",
];

/** The facts that a text contains. */
export function factsIn(text: string): string[] {
  return facts.filter((fact) => text.includes(fact));
}
