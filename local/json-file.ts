import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parseRecord } from "./http/json.ts";
import { storeError } from "./items/store-errors.ts";
import { syncFolder } from "./sync-folder.ts";

/** An emulator's state, stored in one JSON file. */
export interface JsonFile<T> {
  readonly value: T;
  /**
   * Writes the value as it is now; resolves when it is written. Writes that overlap share one: the file is replaced
   * as a whole, so a crash leaves the old or the new.
   */
  save(): Promise<void>;
  /** Resolves when no write is pending. Never rejects. */
  settled(): Promise<void>;
}

/**
 * Opens a file that only its owner can read.
 * @param initial used when the file does not exist
 * @param fsync whether `save` waits for the disk, so that the file survives a power failure
 * @throws Error when the file exists and holds no JSON object. `save` throws StoreError
 */
export async function openJsonFile<T extends object>(
  path: string,
  initial: T,
  { fsync = false }: { fsync?: boolean } = {},
): Promise<JsonFile<T>> {
  const value = (await read<T>(path)) ?? initial;
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;

  async function write(): Promise<void> {
    next = undefined;
    const temporary = `${path}.tmp`;
    try {
      await writeFile(temporary, JSON.stringify(value), { mode: 0o600, flush: fsync });
      await rename(temporary, path);
    } catch (error) {
      throw storeError(path, error);
    }
    if (fsync) syncFolder(dirname(path));
  }

  return {
    value,
    save() {
      next ??= running.then(write);
      const saved = next;
      running = saved.catch(() => undefined);
      return saved;
    },
    settled: () => running,
  };
}

async function read<T>(path: string): Promise<T | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const value = parseRecord(text);
  if (value === undefined) throw new Error(`${path} is damaged: it is not a JSON object`);
  return value as T;
}
