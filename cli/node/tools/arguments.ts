/**
 * Reads the arguments of one tool call. Every method throws an Error that names the tool, the argument and what it must
 * be, which is what the model is told. null counts as absent, and unknown arguments are ignored.
 */
export class ToolArguments {
  readonly #tool: string;
  readonly #values: Record<string, unknown>;

  constructor(tool: string, args: unknown) {
    this.#tool = tool;
    if (args !== undefined && args !== null && (typeof args !== "object" || Array.isArray(args))) {
      throw new Error(`${tool}: the arguments must be an object`);
    }
    this.#values = (args ?? {}) as Record<string, unknown>;
  }

  /** A required string that is not empty. */
  text(name: string): string {
    const value = this.#values[name];
    if (typeof value !== "string" || value === "") throw this.#fault(name, "a non-empty string");
    return value;
  }

  /** A required string, possibly empty. */
  content(name: string): string {
    const value = this.#values[name];
    if (typeof value !== "string") throw this.#fault(name, "a string");
    return value;
  }

  optionalText(name: string): string | undefined {
    return this.#absent(name) ? undefined : this.text(name);
  }

  /** An integer within the bounds, both included. */
  optionalInteger(name: string, least: number, most: number): number | undefined {
    if (this.#absent(name)) return undefined;
    const value = this.#values[name];
    if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) {
      throw this.#fault(name, `an integer from ${least} to ${most}`);
    }
    return value;
  }

  /** A boolean; absent is false. */
  flag(name: string): boolean {
    if (this.#absent(name)) return false;
    const value = this.#values[name];
    if (typeof value !== "boolean") throw this.#fault(name, "true or false");
    return value;
  }

  /** One of `choices`. */
  choice<T extends string>(name: string, choices: readonly T[]): T {
    const value = choices.find((choice) => choice === this.#values[name]);
    if (value === undefined) throw this.#fault(name, `one of ${choices.join(", ")}`);
    return value;
  }

  #absent(name: string): boolean {
    return this.#values[name] === undefined || this.#values[name] === null;
  }

  #fault(name: string, expected: string): Error {
    return new Error(`${this.#tool}: ${name} must be ${expected}`);
  }
}
