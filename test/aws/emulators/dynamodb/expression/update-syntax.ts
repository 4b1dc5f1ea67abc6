import type { Parts } from "../../../../../local/items/document-path.ts";
import type { ItemValue } from "../../../../../shared/world/world.ts";

/** The right side of `SET path = …`. */
export type Formula =
  | { kind: "path"; path: Parts }
  | { kind: "value"; value: ItemValue }
  | { kind: "+" | "-"; left: Formula; right: Formula }
  | { kind: "if_not_exists"; path: Parts; otherwise: Formula }
  | { kind: "list_append"; left: Formula; right: Formula };

/** One action of an UpdateExpression. All actions read the item as it was before the update. */
export type Action =
  | { kind: "set"; path: Parts; formula: Formula }
  | { kind: "remove"; path: Parts }
  /** Adds to a number, which counts as 0 when absent. */
  | { kind: "add"; path: Parts; by: number };

/** The document paths that a formula reads. */
export function pathsRead(formula: Formula): Parts[] {
  switch (formula.kind) {
    case "path":
      return [formula.path];
    case "value":
      return [];
    case "if_not_exists":
      return [formula.path, ...pathsRead(formula.otherwise)];
    default:
      return [...pathsRead(formula.left), ...pathsRead(formula.right)];
  }
}
