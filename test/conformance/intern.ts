/** Gives equal values the same small number, so that states can be compared by numbers. */
export class Interner<T> {
  readonly values: T[] = [];
  private readonly ids = new Map<string, number>();

  /** @param name equal for equal values */
  id(name: string, make: () => T): number {
    const known = this.ids.get(name);
    if (known !== undefined) return known;
    this.ids.set(name, this.values.length);
    return this.values.push(make()) - 1;
  }

  /** @throws for a number that it has not given */
  value(id: number): T {
    const found = this.values[id];
    if (found === undefined) throw new Error(`nothing has the number ${id}`);
    return found;
  }
}

/** JSON in which equal values are equal texts, whatever order their fields were set in. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(",")}}`;
}
