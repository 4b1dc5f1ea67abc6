import { mkdir } from "node:fs/promises";
import type { Key } from "../../../shared/world/world.ts";
import { syncFolder } from "../../sync-folder.ts";
import { type Change, checkedChange, type ItemStore } from "../item-store.ts";
import { type IndexRange, KeyedItems, type Range, type StoredItem } from "../keyed-items.ts";
import { storeError } from "../store-errors.ts";
import { startExpiry } from "./expired-items.ts";
import { lockFolder } from "./folder-lock.ts";
import { LogFile } from "./log-file.ts";
import { encodeDelete, encodePut } from "./log-record.ts";
import { slicesOf, writeSnapshot } from "./snapshot-file.ts";
import { type LoadedFiles, loadFiles, logPath, removeFilesBefore, snapshotPath } from "./table-files.ts";

export interface DurableStoreOptions {
  /** Folder of the table's files; created when missing. Only one store may use it at a time. */
  dir: string;
  /**
   * Acknowledges a change only after a sync, so that it survives a power failure. Concurrent changes share
   * one sync.
   */
  fsync?: boolean;
  /**
   * Minimum log size in bytes for a new snapshot; at least twice the last snapshot's size is needed too.
   * Default: 4 MB.
   */
  logBytes?: number;
  /** Interval of the removal of expired items, in ms. Default: 1 minute. */
  expiryMs?: number;
  /**
   * Called when a snapshot or the removal of expired items has failed, which are retried later, and for refused changes:
   * once a minute at most.
   */
  onError?: (error: unknown) => void;
}

const defaultLogBytes = 4 * 1024 * 1024;
const defaultExpiryMs = 60_000;
const reportEveryMs = 60_000;

/**
 * Opens the items of a folder. All items are in memory. Each change is written to a log before it is applied
 * in memory: acknowledged changes survive `kill -9`, and rejected changes are never visible.
 * @throws StoreLockedError, StoreFolderError, DamagedStoreError, DiskFullError: each with a one-line message
 */
export async function openDurableStore(options: DurableStoreOptions): Promise<ItemStore> {
  const { dir } = options;
  const unlock = await openFolder(dir);
  try {
    const items = new KeyedItems();
    const store = new DurableStore(options, items, loadFiles(dir, items), unlock);
    await store.start();
    return store;
  } catch (error) {
    await unlock();
    throw storeError(dir, error);
  }
}

async function openFolder(dir: string): Promise<() => Promise<void>> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    return await lockFolder(dir);
  } catch (error) {
    throw storeError(dir, error);
  }
}

class DurableStore implements ItemStore {
  private readonly options: DurableStoreOptions;
  private readonly items: KeyedItems;
  private readonly unlock: () => Promise<void>;
  private number: number;
  private log: LogFile;
  /** Length of the log at which the next snapshot is made. */
  private bound: number;
  private snapshot: Promise<void> | undefined;
  private readonly syncs = new GroupSync(() => this.sync());
  /** Partitions with changes that are not synced yet, with the sync that they wait for. */
  private readonly unsynced = new Map<string, Promise<void>>();
  private closed: Promise<void> | undefined;
  private stopExpiry = async () => {};
  /** When a refused change was last reported, on the monotonic clock. */
  private refusedAt = Number.NEGATIVE_INFINITY;

  constructor(
    options: DurableStoreOptions,
    items: KeyedItems,
    loaded: LoadedFiles,
    unlock: () => Promise<void>,
  ) {
    this.options = options;
    this.items = items;
    this.unlock = unlock;
    this.number = loaded.number;
    this.bound = Math.max(this.logBytes, 2 * loaded.snapshotBytes);
    this.log = new LogFile(logPath(options.dir, loaded.number), loaded.logBytes);
  }

  private get logBytes(): number {
    return this.options.logBytes ?? defaultLogBytes;
  }

  async start(): Promise<void> {
    if (this.options.fsync) {
      await this.log.sync();
      syncFolder(this.options.dir);
    }
    const { expiryMs = defaultExpiryMs } = this.options;
    this.stopExpiry = startExpiry(this, expiryMs, (error) => this.report(error));
  }

  get(key: Key): StoredItem | undefined {
    return this.items.get(key);
  }

  range(range: Range): Iterable<StoredItem> {
    return this.items.range(range);
  }

  indexRange(range: IndexRange): Iterable<StoredItem> {
    return this.items.indexRange(range);
  }

  all(): Iterable<StoredItem> {
    return this.items.all();
  }

  settling(pk: string): Promise<void> | undefined {
    return this.unsynced.get(pk);
  }

  async write(key: Key, change: Change): Promise<StoredItem | undefined> {
    try {
      const { before, after } = checkedChange(this.items, key, change);
      if (after !== before) {
        this.append(after ? encodePut(after) : encodeDelete(key));
        if (after) this.items.put(after);
        else this.items.delete(key);
        if (this.options.fsync) this.syncLater(key.pk);
        if (this.log.size > this.bound) this.snapshotSoon();
      }
      return after;
    } finally {
      // A rejection also reveals stored data, so it waits until that data is durable.
      const settling = this.settling(key.pk);
      if (settling) await settling;
    }
  }

  private append(record: string): void {
    try {
      this.log.append(record);
    } catch (error) {
      if (performance.now() - this.refusedAt > reportEveryMs) {
        this.refusedAt = performance.now();
        this.report(error);
      }
      throw error;
    }
  }

  close(): Promise<void> {
    this.closed ??= this.end();
    return this.closed;
  }

  private async end(): Promise<void> {
    await this.stopExpiry();
    await this.snapshot;
    try {
      if (this.options.fsync) await this.syncs.wait();
    } finally {
      this.log.close();
      await this.unlock();
    }
  }

  private async sync(): Promise<void> {
    try {
      await this.log.sync();
    } catch (error) {
      // A new log may have been started meanwhile.
      throw this.log.refuse(error);
    }
  }

  private syncLater(pk: string): void {
    const synced = this.syncs.wait();
    if (this.unsynced.get(pk) === synced) return;
    this.unsynced.set(pk, synced);
    const forget = () => {
      if (this.unsynced.get(pk) === synced) this.unsynced.delete(pk);
    };
    // Keep a failed sync: later reads of this partition must reject too.
    synced.then(forget, () => {});
  }

  private snapshotSoon(): void {
    this.snapshot ??= this.makeSnapshot().finally(() => {
      this.snapshot = undefined;
    });
  }

  /** Starts a new log, then writes a snapshot that replaces all earlier logs. Never rejects. */
  private async makeSnapshot(): Promise<void> {
    const { dir } = this.options;
    try {
      const number = this.number + 1;
      this.turnLog(number);
      const bytes = await writeSnapshot(snapshotPath(dir, number), slicesOf(this.items));
      removeFilesBefore(dir, number);
      this.bound = Math.max(this.logBytes, 2 * bytes);
    } catch (error) {
      this.bound = this.log.size + this.logBytes;
      this.report(error);
    }
  }

  private turnLog(number: number): void {
    const last = this.log;
    if (this.options.fsync) last.syncNow();
    this.log = new LogFile(logPath(this.options.dir, number), 0);
    this.number = number;
    if (!this.options.fsync) {
      last.close();
      return;
    }
    syncFolder(this.options.dir);
    // A sync of the previous log may still be running.
    const close = () => last.close();
    this.syncs.wait().then(close, close);
  }

  private report(error: unknown): void {
    this.options.onError?.(error);
  }
}

/** Shares one sync among concurrent callers. */
class GroupSync {
  private readonly sync: () => Promise<void>;
  private running: Promise<void> = Promise.resolve();
  private next: Promise<void> | undefined;

  /** @param sync makes all earlier writes durable; calls of it never overlap */
  constructor(sync: () => Promise<void>) {
    this.sync = sync;
  }

  /** Resolves after a sync that started after this call. Rejects when that sync fails. */
  wait(): Promise<void> {
    this.next ??= this.running.then(() => {
      this.next = undefined;
      return this.sync();
    });
    const synced = this.next;
    this.running = synced.catch(() => undefined);
    return synced;
  }
}
