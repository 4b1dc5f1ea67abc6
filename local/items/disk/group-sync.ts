/** Lets all who wait at the same time share one sync. */
export class GroupSync {
  private readonly sync: () => Promise<void>;
  private running: Promise<void> = Promise.resolve();
  private next: Promise<void> | undefined;

  /** @param sync makes durable everything written before it was called; never called twice at once */
  constructor(sync: () => Promise<void>) {
    this.sync = sync;
  }

  /** Resolves after a sync that began after this call; rejects when that sync failed. */
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
