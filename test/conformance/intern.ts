/** Makes equal values one object with a small number, so that states can be compared by numbers. */
export class Interner<T> {
  private readonly known = new Map<string, T>();

  /** @param name equal for equal values; `make` gets the number of a new one */
  of(name: string, make: (id: number) => T): T {
    let value = this.known.get(name);
    if (value === undefined) {
      value = make(this.known.size);
      this.known.set(name, value);
    }
    return value;
  }
}

/** JSON with sorted fields, so equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(",")}}`;
}
