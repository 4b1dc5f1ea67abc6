/** Shares one sync among concurrent callers. */
export class GroupSync {
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
