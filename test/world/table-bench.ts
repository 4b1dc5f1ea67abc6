import { expect, it } from "vitest";
import type { Item, Key, Table } from "../../shared/world/world.ts";

/** What the cases of the table's contract share. */
export interface TableBench {
  /** The table; there is one once the cases run. */
  table(): Table;
  /** Declares a case, by a name that `knownFaults` may hold. */
  holds(behaviour: string, check: () => Promise<void>): void;
  /** A name that no other case uses. */
  freshName(start: string): string;
  /** A key that no other case uses. */
  freshKey(): Key;
  putFresh(fields: Item): Promise<Key>;
  /** Expects a ValidationException. */
  isRefused(call: Promise<unknown>): Promise<void>;
}

/** @param knownFaults names of cases that are expected to fail */
export function createBench(table: () => Table, knownFaults: readonly string[]): TableBench {
  let made = 0;
  const freshName = (start: string) => `${start}#${made++}`;
  const freshKey = () => ({ pk: freshName("T"), sk: "META" });
  return {
    table,
    holds: (behaviour, check) => (knownFaults.includes(behaviour) ? it.fails : it)(behaviour, check),
    freshName,
    freshKey,
    async putFresh(fields) {
      const key = freshKey();
      await table().put({ ...key, ...fields });
      return key;
    },
    isRefused: (call) => expect(call).rejects.toMatchObject({ name: "ValidationException" }),
  };
}
