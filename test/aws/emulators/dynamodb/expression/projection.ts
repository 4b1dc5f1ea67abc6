import { child, type Parts } from "../../../../../local/items/document-path.ts";
import type { Item, ItemValue } from "../../../../../shared/world/world.ts";
import type { ExpressionReader } from "./expression-reader.ts";
import { requireApart } from "./path-overlap.ts";

/** Reads a ProjectionExpression: document paths with commas between. @throws SyntaxFault */
export function parseProjection(reader: ExpressionReader): Parts[] {
  const paths = [reader.path()];
  while (reader.takeSymbol(",")) paths.push(reader.path());
  requireApart(paths);
  return paths;
}

/** The values at the paths, in the maps and lists around them; list elements close up. Absent paths leave nothing. */
export function project(item: Item, paths: readonly Parts[]): Item {
  return (select(item, paths) ?? {}) as Item;
}

function select(value: ItemValue, paths: readonly Parts[]): ItemValue | undefined {
  if (paths.some((path) => path.length === 0)) return value;
  const heads = [...new Set(paths.map(([head]) => head as string | number))];
  if (Array.isArray(value)) heads.sort((a, b) => Number(a) - Number(b));
  const found = heads.flatMap((head) => {
    const inner = child(value, head);
    const below = paths.filter(([first]) => first === head).map((path) => path.slice(1));
    const selected = inner === undefined ? undefined : select(inner, below);
    return selected === undefined ? [] : [[head, selected] as const];
  });
  if (found.length === 0) return undefined;
  return Array.isArray(value) ? found.map(([, one]) => one) : Object.fromEntries(found);
}
