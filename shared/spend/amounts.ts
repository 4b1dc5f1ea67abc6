/** Sums by scope: μ$ (a millionth of a dollar), or tokens where the scope's name ends in `#tokens`. Integers. */
export type Amounts = Readonly<Record<string, number>>;

export function plus(one: Amounts, other: Amounts): Amounts {
  const sums: Record<string, number> = { ...one };
  for (const [scope, amount] of Object.entries(other)) sums[scope] = (sums[scope] ?? 0) + amount;
  return sums;
}

/** `one` minus `other`; the scopes of both. */
export function minus(one: Amounts, other: Amounts): Amounts {
  return plus(one, Object.fromEntries(Object.entries(other).map(([scope, amount]) => [scope, -amount])));
}

/** A scope in a text; `all` is the empty one. */
export const shorten = (scope: string) => (scope === "all" ? "" : encodeURIComponent(scope));
export const lengthen = (text: string) => (text === "" ? "all" : decodeURIComponent(text));

/** Amounts as one short text: `=123;kind%3Acron=12`. */
export function writeAmounts(amounts: Amounts): string {
  const parts = Object.entries(amounts).filter(([, amount]) => amount !== 0);
  return parts.map(([scope, amount]) => `${shorten(scope)}=${amount}`).join(";");
}

export function readAmounts(text: string): Amounts {
  const parts = text === "" ? [] : text.split(";").map((part) => part.split("="));
  return Object.fromEntries(parts.map(([scope = "", amount]) => [lengthen(scope), Number(amount)]));
}
