import { checkedChange, createMemoryStore, type ItemReader } from "../../../local/items/item-store.ts";
import { ValidationException } from "../../../local/items/item-validation.ts";
import { copyOf } from "../../../local/items/item-values.ts";
import type { StoredItem } from "../../../local/items/keyed-items.ts";
import {
  changedItem,
  isWrite,
  itemAt,
  itemsOf,
  keyOf,
  type ReadCall,
  rowsOf,
  type TableCall,
  type WriteCall,
} from "../../../local/items/table-call.ts";
import { metaKey, type SessionState, toState } from "../../../shared/session/state.ts";
import { ConditionFailed, type Item, type Key } from "../../../shared/world/world.ts";
import { canonicalJson, Interner } from "../intern.ts";
import { nextSessionId } from "./mask.ts";
import { type Answer, ownName } from "./process.ts";

/** The one session of the check. */
export const sessionKey = "agent:main:main";

/** The state of the table. Equal ones are one object. */
export interface Snapshot {
  id: number;
  items: ReadonlyMap<string, StoredItem>;
  /** The session; undefined before its first message. */
  session?: SessionState;
}

/** The effect of one request to the table. */
export interface Outcome {
  table: Snapshot;
  /** The answer, by a name that equal answers share. */
  answerName: string;
  answer: () => Answer;
  failed: boolean;
  /** The session's item before and after the write, if the request wrote it. */
  session?: { before?: SessionState; after: SessionState };
  /** The rules that the write broke. */
  faults: readonly string[];
}

/** More than the states of any exploration, so three numbers can be combined into one. */
const maxRequests = 2 ** 20;
const maxEpochs = 64;

const sessionItem = itemName(metaKey(sessionKey));

/** Table states and the effects of requests on them, each computed once. */
export class Snapshots {
  private readonly items: Interner<{ id: number }>;
  private readonly itemIds = new WeakMap<Item, number>();
  private readonly tables = new Interner<Snapshot>();
  private readonly outcomes = new Map<number, Outcome>();
  private readonly check: (before: Snapshot, after: Snapshot) => string[];

  /**
   * @param check returns the faults of a change of the table
   * @param items numbers equal items alike
   */
  constructor(check: (before: Snapshot, after: Snapshot) => string[], items: Interner<{ id: number }>) {
    this.check = check;
    this.items = items;
  }

  get empty(): Snapshot {
    return this.snapshot(new Map());
  }

  /**
   * Applies a call, which `requestId` identifies. `epoch` is that of the caller's lease and is stored instead of the
   * owner that it writes.
   */
  apply(before: Snapshot, requestId: number, call: TableCall, epoch: number): Outcome {
    const name = (before.id * maxRequests + requestId) * maxEpochs + epoch;
    const known = this.outcomes.get(name);
    if (known) return known;
    const outcome = this.perform(before, call, epoch);
    this.outcomes.set(name, outcome);
    return outcome;
  }

  private perform(before: Snapshot, call: TableCall, epoch: number): Outcome {
    try {
      return isWrite(call) ? this.write(before, call, epoch) : this.read(before, call, epoch);
    } catch (error) {
      const failure = failureOf(error);
      return { table: before, answerName: failure, answer: () => ({ failure }), failed: true, faults: [] };
    }
  }

  private read(table: Snapshot, call: ReadCall, epoch: number): Outcome {
    return { table, ...this.answer(found(table, call), epoch), failed: false, faults: [] };
  }

  private write(old: Snapshot, call: WriteCall, epoch: number): Outcome {
    const name = itemName(keyOf(call));
    const { before, after } = checkedChange(readerOf(old), keyOf(call), (item) => changedItem(item, call));
    const items = new Map(old.items);
    const stored = after && named(after);
    if (stored) items.set(name, stored);
    else items.delete(name);
    const table = this.snapshot(items);
    const { session } = table;
    const result = { put: undefined, update: stored, delete: before }[call.op];
    const taken = isAcquire(call) ? Number(session?.epoch) : epoch;
    const changed = session && name === sessionItem;
    return {
      table,
      ...this.answer(result, taken),
      failed: false,
      ...(changed ? { session: { before: old.session, after: session } } : {}),
      faults: this.check(old, table),
    };
  }

  private answer(result: Item | Item[] | undefined, epoch: number): Pick<Outcome, "answerName" | "answer"> {
    if (result === undefined) return { answerName: "-", answer: () => ({ value: undefined }) };
    if (!Array.isArray(result)) {
      const seen = seenBy(result, epoch);
      return { answerName: `i${this.itemId(seen)}`, answer: () => ({ value: copyOf(seen) }) };
    }
    const name = result.map((item) => this.itemId(item)).join(",");
    return { answerName: `l${name}`, answer: () => ({ value: copyOf(result) }) };
  }

  private itemId(item: Item): number {
    const known = this.itemIds.get(item);
    if (known !== undefined) return known;
    const { id } = this.items.of(canonicalJson(item), (number) => ({ id: number }));
    this.itemIds.set(item, id);
    return id;
  }

  private snapshot(items: Map<string, StoredItem>): Snapshot {
    const names = [...items.keys()].sort();
    const name = names.map((one) => `${one}=${this.itemId(items.get(one)!)}`).join("\n");
    return this.tables.of(name, (id) => {
      const session = items.get(sessionItem);
      return { id, items, ...(session ? { session: toState(session) } : {}) };
    });
  }
}

/** The key of an item as one text. */
export function itemName({ pk, sk }: Key): string {
  return `${pk}\n${sk}`;
}

function readerOf({ items }: Snapshot): Pick<ItemReader, "get"> {
  return { get: (key) => items.get(itemName(key)) };
}

function found(table: Snapshot, call: ReadCall): Item | Item[] | undefined {
  if (call.op === "get") return itemAt(readerOf(table), call.key);
  const store = createMemoryStore(table.items.values());
  return call.op === "query" ? itemsOf(store, call.query) : rowsOf(store, call.query);
}

/** The item with names that are the same in every run: the epoch as the lease's owner, and the next session's id. */
function named(item: StoredItem): StoredItem {
  const own = item.owner === ownName ? { ...item, owner: String(item.epoch) } : item;
  const { resetting } = item as { resetting?: Item };
  if (resetting?.newSessionId !== nextSessionId) return own;
  return { ...own, resetting: { ...resetting, newSessionId: `${item.sessionId}-next` } };
}

/** An item as a lease holder sees it: it recognizes only itself as the owner. */
function seenBy(item: Item, epoch: number): Item {
  if (item.owner === undefined) return item;
  return { ...item, owner: item.owner === String(epoch) ? ownName : "another" };
}

/** Whether this write acquires a lease. */
export function isAcquire(call: TableCall): boolean {
  return call.op === "update" && call.steps.some(({ op, path }) => op === "set" && path === "owner");
}

function failureOf(error: unknown): "condition" | "validation" {
  if (error instanceof ConditionFailed) return "condition";
  if (error instanceof ValidationException) return "validation";
  throw error;
}
