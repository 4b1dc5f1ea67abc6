import type { Condition, Path, Step } from "../world/expression.ts";
import type { Item, ItemValue } from "../world/world.ts";
import { storedName } from "./item-attributes.ts";

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
    this.names[key] = storedName(name);
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
    case "lacks":
      return `NOT contains(${placeholders.path(condition.path)}, ${placeholders.value(condition.part)})`;
    case "all":
    case "any": {
      const word = condition.is === "all" ? " AND " : " OR ";
      return `(${condition.of.map((one) => compileCondition(one, placeholders)).join(word)})`;
    }
    default:
      return `${placeholders.path(condition.path)} ${condition.is} ${placeholders.value(condition.value)}`;
  }
}
