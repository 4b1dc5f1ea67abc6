import type { ItemValue } from "./item.ts";

/** A place in an item: attribute names and list indexes, outermost first. Names may contain any character. */
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
  | { is: "lacks"; path: Path; part: string }
  | { is: "all" | "any"; of: Condition[] };

export const set = (path: Path, value: ItemValue): Step => ({ op: "set", path, value });
export const setIfAbsent = (path: Path, value: ItemValue): Step => ({ op: "setIfAbsent", path, value });
export const remove = (path: Path): Step => ({ op: "remove", path });
export const add = (path: Path, by: number): Step => ({ op: "add", path, by });
export const append = (path: Path, ...values: ItemValue[]): Step => ({ op: "append", path, values });

export const exists = (path: Path): Condition => ({ is: "exists", path });
export const absent = (path: Path): Condition => ({ is: "absent", path });
export const equal = (path: Path, value: string | number | boolean): Condition => ({ is: "=", path, value });
/** Also true when the attribute is absent. */
export const differs = (path: Path, value: string | number | boolean): Condition => ({
  is: "<>",
  path,
  value,
});
/** The text does not contain `part`. Also true when the attribute is absent. */
export const lacks = (path: Path, part: string): Condition => ({ is: "lacks", path, part });
export const below = (path: Path, value: string | number): Condition => ({ is: "<", path, value });
export const atMost = (path: Path, value: string | number): Condition => ({ is: "<=", path, value });
export const above = (path: Path, value: string | number): Condition => ({ is: ">", path, value });
export const all = (...of: Condition[]): Condition => ({ is: "all", of });
export const any = (...of: Condition[]): Condition => ({ is: "any", of });
