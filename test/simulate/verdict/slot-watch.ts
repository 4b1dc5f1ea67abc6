import type { Item } from "../../../shared/world/world.ts";
import type { Ledger } from "./ledger.ts";

/** The parts of the slots' item that are watched. */
interface Slots {
  running: { id: string; sessionKey: string }[];
  waiting: string[];
}

/** Watches the writes of the agents' slots: how long each session has waited for its turn. */
export class SlotWatch {
  private readonly since = new Map<string, number>();
  private readonly past = new Map<string, number>();

  private readonly ledger: Ledger;

  constructor(ledger: Ledger) {
    this.ledger = ledger;
  }

  /**
   * Without faults, each agent frees its own slot: a slot that the timer takes away is one that nobody has freed.
   * @param now the services' time in epoch ms
   */
  written(before: Item | undefined, after: Item, writer: string, now: number, isCalm: boolean): void {
    const { running, waiting } = after as unknown as Slots;
    for (const sessionKey of this.since.keys()) {
      if (waiting.includes(sessionKey)) continue;
      this.past.set(sessionKey, this.waited(sessionKey, now));
      this.since.delete(sessionKey);
    }
    for (const sessionKey of waiting) if (!this.since.has(sessionKey)) this.since.set(sessionKey, now);
    if (!isCalm || !before || !writer.startsWith("timer/")) return;
    for (const { id, sessionKey } of (before as unknown as Slots).running)
      if (!running.some((slot) => slot.id === id)) this.ledger.fault(`${sessionKey}: nobody freed its slot`);
  }

  /** How long a session has waited for its turns until now. Milliseconds. */
  waited(sessionKey: string, now: number): number {
    const since = this.since.get(sessionKey);
    return (this.past.get(sessionKey) ?? 0) + (since === undefined ? 0 : now - since);
  }
}
