import type { Item, ItemValue } from "./table.ts";

/** A place in an item: attribute names and list indexes, outermost first. Names may hold any character. */
export type Path = readonly (string | number)[] | string;

/** One step of an update. All steps of one update apply to the item as it was before. */
export type Step =
  | { op: "set"; path: Path; value: ItemValue }
  | { op: "setIfAbsent"; path: Path; value: ItemValue }
  | { op: "remove"; path: Path }
  /** Adds to a number, which counts as 0 when absent. */
  | { op: "add"; path: Path; by: number }
  /** Appends to a list, which counts as empty when absent. */
  | { op: "append"; path: Path; values: ItemValue[] };

export type Condition =
  | { is: "exists" | "absent"; path: Path }
  | { is: "=" | "<>" | "<" | "<=" | ">" | ">="; path: Path; value: string | number | boolean }
  | { is: "all" | "any"; of: Condition[] };

export const set = (path: Path, value: ItemValue): Step => ({ op: "set", path, value });
export const setIfAbsent = (path: Path, value: ItemValue): Step => ({ op: "setIfAbsent", path, value });
export const remove = (path: Path): Step => ({ op: "remove", path });
export const add = (path: Path, by: number): Step => ({ op: "add", path, by });
export const append = (path: Path, ...values: ItemValue[]): Step => ({ op: "append", path, values });

export const exists = (path: Path): Condition => ({ is: "exists", path });
export const absent = (path: Path): Condition => ({ is: "absent", path });
export const equal = (path: Path, value: string | number | boolean): Condition => ({ is: "=", path, value });
/** Also of what is absent. */
export const differs = (path: Path, value: string | number | boolean): Condition => ({
  is: "<>",
  path,
  value,
});
export const below = (path: Path, value: string | number): Condition => ({ is: "<", path, value });
export const atMost = (path: Path, value: string | number): Condition => ({ is: "<=", path, value });
export const above = (path: Path, value: string | number): Condition => ({ is: ">", path, value });
export const all = (...of: Condition[]): Condition => ({ is: "all", of });
export const any = (...of: Condition[]): Condition => ({ is: "any", of });

/** A compiled expression: DynamoDB's text with its placeholders. */
export interface Compiled {
  text: string;
  names: Record<string, string>;
  values: Item;
}

/** Collects the placeholders of one request, so that each name and value is bound once. */
export class Placeholders {
  readonly names: Record<string, string> = {};
  readonly values: Item = {};
  private readonly byName = new Map<string, string>();

  path(path: Path): string {
    const parts = typeof path === "string" ? [path] : path;
    let text = "";
    for (const part of parts) {
      if (typeof part === "number") text += `[${part}]`;
      else text += `${text === "" ? "" : "."}${this.name(part)}`;
    }
    return text;
  }

  value(value: ItemValue): string {
    const key = `:v${Object.keys(this.values).length}`;
    this.values[key] = value;
    return key;
  }

  private name(name: string): string {
    const known = this.byName.get(name);
    if (known) return known;
    const key = `#n${this.byName.size}`;
    this.byName.set(name, key);
    this.names[key] = name;
    return key;
  }
}

/** DynamoDB's UpdateExpression for the steps. */
export function compileUpdate(steps: readonly Step[], placeholders: Placeholders): string {
  const sets: string[] = [];
  const removes: string[] = [];
  for (const step of steps) {
    const path = placeholders.path(step.path);
    switch (step.op) {
      case "set":
        sets.push(`${path} = ${placeholders.value(step.value)}`);
        break;
      case "setIfAbsent":
        sets.push(`${path} = if_not_exists(${path}, ${placeholders.value(step.value)})`);
        break;
      case "add":
        sets.push(
          `${path} = if_not_exists(${path}, ${placeholders.value(0)}) + ${placeholders.value(step.by)}`,
        );
        break;
      case "append":
        sets.push(
          `${path} = list_append(if_not_exists(${path}, ${placeholders.value([])}), ${placeholders.value(step.values)})`,
        );
        break;
      case "remove":
        removes.push(path);
    }
  }
  return [sets.length ? `SET ${sets.join(", ")}` : "", removes.length ? `REMOVE ${removes.join(", ")}` : ""]
    .filter(Boolean)
    .join(" ");
}

/** DynamoDB's ConditionExpression. */
export function compileCondition(condition: Condition, placeholders: Placeholders): string {
  switch (condition.is) {
    case "exists":
      return `attribute_exists(${placeholders.path(condition.path)})`;
    case "absent":
      return `attribute_not_exists(${placeholders.path(condition.path)})`;
    case "all":
    case "any": {
      const word = condition.is === "all" ? " AND " : " OR ";
      return `(${condition.of.map((one) => compileCondition(one, placeholders)).join(word)})`;
    }
    default:
      return `${placeholders.path(condition.path)} ${condition.is} ${placeholders.value(condition.value)}`;
  }
}
