import { log } from "../runtime/log.ts";
import { absent, any, atMost, type Step, set, setIfAbsent } from "../world/expression.ts";
import { configurationKey, type StoredFormat, storageFormat, storedFormat } from "../world/stored-format.ts";
import { succeeds, type Table } from "../world/world.ts";

/** For this time after an upgrade the previous release can read everything. Milliseconds. */
const rollbackMs = 24 * 3600_000;

/** Activity that is this much later than the last sweep happened under another release. Sweeps run each minute. Milliseconds. */
const unseenMs = 5 * 60_000;

/**
 * Returns a function for the sweep. It records the stored format, and finishes an upgrade after a day in which no older
 * release has written. From then on it does nothing.
 */
export function watchUpgrade({ table, now }: { table: Table; now: () => number }): () => Promise<void> {
  let isFinished = false;
  return async () => {
    if (!isFinished) isFinished = await continueUpgrade(table, now());
  };
}

/** Records the format of this release in the table. @returns whether the upgrade is finished */
export async function continueUpgrade(table: Table, now: number): Promise<boolean> {
  const [item, [newest]] = await Promise.all([
    table.get(configurationKey),
    table.queryIndex({ index: "list", pk: "SESSION", limit: 1, descending: true }),
  ]);
  const stored = storedFormat(item);
  if (stored.minReader >= storageFormat) return true;
  const isNew = item === undefined && newest === undefined;
  const isOlder = stored.format < storageFormat || Number(newest?.listSk ?? 0) > stored.seen + unseenMs;
  const since = isOlder ? now : stored.since;
  const isOver = isNew || (!stored.isHeld && now - since >= rollbackMs);
  const steps = [
    ...[set("since", since), set("seen", now)],
    ...[set("format", storageFormat), set("minReader", isOver ? storageFormat : storageFormat - 1)],
  ];
  const written = await writeFormat(table, steps);
  if (written && (isOver || isOlder)) log("upgrade", { format: storageFormat, since, finished: isOver });
  return written && isOver;
}

/** `hold`: the previous release can read everything until `auto` or `finish`. `finish`: at once no more. */
export const upgradeWords = ["auto", "hold", "finish"] as const;
export type UpgradeWord = (typeof upgradeWords)[number];

/** Changes when the upgrade is finished. */
export async function decideUpgrade(table: Table, word: UpgradeWord): Promise<void> {
  const finished = word === "finish" ? [set("format", storageFormat), set("minReader", storageFormat)] : [];
  await writeFormat(table, [set("isHeld", word === "hold"), ...finished]);
}

/** Writes attributes of the stored format, unless a newer release uses the table. */
function writeFormat(table: Table, steps: readonly Step[]): Promise<boolean> {
  // An item without overrides is not readable as a configuration.
  const readable = [setIfAbsent("overrides", "{}"), setIfAbsent("version", 1)];
  const isOurs = any(absent("format"), atMost("format", storageFormat));
  return succeeds(table.update(configurationKey, [...steps, ...readable], isOurs));
}

/** The state of an upgrade. `finishesAt`: when it is finished by itself; absent if never, or before the first sweep. */
export interface UpgradeState extends StoredFormat {
  finishesAt?: number;
}

export async function readUpgrade(table: Table): Promise<UpgradeState> {
  const stored = storedFormat(await table.get(configurationKey));
  const isOpen = stored.minReader < storageFormat && !stored.isHeld && stored.format === storageFormat;
  return { ...stored, ...(isOpen ? { finishesAt: stored.since + rollbackMs } : {}) };
}
