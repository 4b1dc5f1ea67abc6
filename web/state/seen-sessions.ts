import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { SessionEntry } from "../../shared/protocol/session-results.ts";
import type { PageStore } from "../wire/page-store.ts";

/** When sessions were read here, epoch ms. Whatever happened before `since` counts as read. */
interface Seen {
  since: number;
  at: Readonly<Record<string, number>>;
}

/** Which sessions have changed since they were shown on this device. */
export class SeenSessions {
  readonly #store: PageStore;
  readonly #seen = signal<Seen | undefined>(undefined);
  readonly #known: Promise<Seen | undefined>;
  readonly unread: ReadonlySignal<ReadonlySet<string>>;

  constructor(store: PageStore, sessions: ReadonlySignal<SessionEntry[]>, shown: () => string) {
    this.#store = store;
    this.#known = store.get<Seen>("settings", "seen");
    this.unread = computed(() => {
      const seen = this.#seen.value;
      const isNew = ({ sessionKey, lastActiveAt }: SessionEntry) =>
        seen !== undefined && sessionKey !== shown() && lastActiveAt > (seen.at[sessionKey] ?? seen.since);
      return new Set(sessions.value.filter(isNew).map(({ sessionKey }) => sessionKey));
    });
  }

  /** Records that the user has read a session. The first call makes all `sessions` known. */
  async read(sessions: readonly SessionEntry[], shown: string): Promise<void> {
    const known = await this.#known;
    const newest = Math.max(0, ...sessions.map(({ lastActiveAt }) => lastActiveAt));
    const seen = this.#seen.value ?? known ?? { since: newest, at: {} };
    const at = sessions.find(({ sessionKey }) => sessionKey === shown)?.lastActiveAt ?? 0;
    const isKnown = at <= (seen.at[shown] ?? 0);
    this.#seen.value = isKnown ? seen : { ...seen, at: { ...seen.at, [shown]: at } };
    if (!isKnown) await this.#store.put("settings", "seen", this.#seen.value);
  }
}
