/** Most levels of lists and objects in each other that a table's item holds: DynamoDB's limit. */
export const maxNesting = 32;

/**
 * Whether lists and objects stand in each other on more than so many levels. A plain value has none, an empty
 * object one. Never recurses: the value may come from outside.
 */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > levels) return true;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return false;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
