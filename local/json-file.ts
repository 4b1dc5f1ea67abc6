import { readFile, rename, writeFile } from "node:fs/promises";
import { parseRecord } from "./http/json.ts";

/** An emulator's state, stored in one JSON file. */
export interface JsonFile<T> {
  readonly value: T;
  /**
   * Writes the value as it is now; resolves when it is on disk. Writes that overlap share one: the file is replaced
   * as a whole, so a crash leaves the old or the new.
   */
  save(): Promise<void>;
  /** Resolves when no write is pending. Never rejects. */
  settled(): Promise<void>;
}

/**
 * @param initial used when the file does not exist
 * @param mode permissions of the file
 * @throws Error when the file exists and holds no JSON object
 */
export async function openJsonFile<T extends object>(
  path: string,
  initial: T,
  mode = 0o600,
): Promise<JsonFile<T>> {
  const value = (await read<T>(path)) ?? initial;
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;

  async function write(): Promise<void> {
    next = undefined;
    const temporary = `${path}.tmp`;
    await writeFile(temporary, JSON.stringify(value), { mode });
    await rename(temporary, path);
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
