import { join } from "node:path";
import type { Item, Key } from "../../shared/world/world.ts";
import { type DurableStoreOptions, openDurableStore } from "../items/disk/durable-store.ts";
import type { Schedule } from "./schedule.ts";

/** Schedules on disk by `{group}/{name}`. */
export interface StoredSchedules {
  all(): Map<string, Schedule>;
  /** Resolves when the change is on disk. */
  put(key: string, schedule: Schedule): Promise<void>;
  /** Resolves when the change is on disk. */
  delete(key: string): Promise<void>;
  close(): Promise<void>;
}

const pk = "schedules";

/**
 * Opens the schedules of a data folder, in the store that holds the table too: a folder `schedules` with a log and
 * snapshots.
 */
export async function openStoredSchedules(
  dir: string,
  options: Pick<DurableStoreOptions, "fsync" | "onError">,
): Promise<StoredSchedules> {
  const store = await openDurableStore({ ...options, dir: join(dir, "schedules") });
  return {
    all: () => new Map([...store.range({ pk })].map((item) => [String(item.sk), toSchedule(item)])),
    async put(key, schedule) {
      await store.write({ pk, sk: key }, () => toItem(key, schedule));
    },
    async delete(key) {
      await store.write({ pk, sk: key }, () => undefined);
    },
    close: () => store.close(),
  };
}

function toItem(key: string, schedule: Schedule): Item & Key {
  return { pk, sk: key, schedule: schedule as unknown as Item };
}

function toSchedule(item: Item): Schedule {
  return item.schedule as unknown as Schedule;
}
