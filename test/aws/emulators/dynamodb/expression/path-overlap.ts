import { clashOf, type Parts } from "../../../../../local/items/document-path.ts";
import { SyntaxFault } from "./expression-tokens.ts";

/**
 * Refuses paths of which one lies in another or is the same, and paths that take one place for a list and for a map.
 * @throws SyntaxFault
 */
export function requireApart(paths: readonly Parts[]): void {
  for (const [n, one] of paths.entries()) {
    for (const other of paths.slice(n + 1)) {
      const fault = clashOf(one, other);
      if (fault === undefined) continue;
      throw new SyntaxFault(
        `Two document paths ${fault} with each other; must remove or rewrite one of these paths; path one: ${format(one)}, path two: ${format(other)}`,
      );
    }
  }
}

function format(path: Parts): string {
  return `[${path.map((part) => (typeof part === "number" ? `[${part}]` : part)).join(", ")}]`;
}
