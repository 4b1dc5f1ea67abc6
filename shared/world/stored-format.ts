import { code, PeerError } from "../protocol/errors.ts";
import { previousFields, previousSteps } from "./previous-format.ts";
import type { Item, Key, Table } from "./world.ts";

/** The format of the items that this release stores. The next release adds one if this one cannot read its items. */
export const storageFormat = 2;

/** The item of the configuration, which every function reads. It has the stored format too. */
export const configurationKey: Key = { pk: "CONFIG", sk: "GLOBAL" };

/** What the table may contain. */
export interface StoredFormat {
  /** The newest format of a release that has used the table. */
  format: number;
  /** The oldest format whose release can read every item. Below `format` until the upgrade is finished. */
  minReader: number;
  /** Since when only releases of `format` have used the table, epoch ms. */
  since: number;
  /** The last sweep of such a release, epoch ms. */
  seen: number;
  /** Whether the operator wants to be able to return to the previous release. */
  isHeld: boolean;
}

/** The stored format by the item of the configuration. Releases before format 2 stored none. */
export function storedFormat(item: Item | undefined): StoredFormat {
  const {
    format = 1,
    minReader = 1,
    since = 0,
    seen = 0,
    isHeld = false,
  } = (item ?? {}) as Partial<StoredFormat>;
  return { format, minReader, since, seen, isHeld };
}

/** Why this release must not use stored data; undefined when it may. */
export function refusalOf({ minReader }: Pick<StoredFormat, "minReader">): string | undefined {
  return minReader > storageFormat ? newerData("storage format", minReader, storageFormat) : undefined;
}

/** Why data in a newer format or layout is refused. */
export function newerData(kind: string, found: number, known: number): string {
  return `a newer version of gsv has written this data (${kind} ${found}; this version reads ${known}): use that version again`;
}

/**
 * A table whose items the previous release can read as well, until the upgrade is finished. It learns that from each read of
 * the configuration.
 * @returns a table whose `get` of the configuration throws PeerError 503 if only a newer release may read the items
 */
export function openFormatted(table: Table): Table {
  let isFinished = false;
  return {
    ...table,
    async get(key) {
      const item = await table.get(key);
      if (key.pk !== configurationKey.pk || key.sk !== configurationKey.sk) return item;
      const stored = storedFormat(item);
      const refusal = refusalOf(stored);
      if (refusal !== undefined) throw new PeerError(code.unavailable, refusal);
      isFinished = stored.minReader === storageFormat;
      return item;
    },
    put: (item, condition) => table.put(isFinished ? item : previousFields(item), condition),
    update: (key, steps, condition) =>
      table.update(key, isFinished ? steps : previousSteps(key, steps), condition),
  };
}
