import { metaKey, type SessionState, toState } from "../../../shared/session/state.ts";
import { ConditionFailed, type Item } from "../../../shared/world/world.ts";
import { type ItemStore, itemName, performCall, type TableCall } from "../../support/memory-table.ts";
import { ValidationException } from "../../support/memory-table-update.ts";
import { canonicalJson, Interner } from "../intern.ts";
import { type Answer, ownName } from "./process.ts";

/** The one session of the check. */
export const sessionKey = "agent:main:main";

/** The table at one moment. Equal ones are one object. */
export interface Snapshot {
  id: number;
  items: ReadonlyMap<string, Item>;
  /** The session; undefined before its first message. */
  session?: SessionState;
}

/** What one request to the table did. */
export interface Outcome {
  table: Snapshot;
  /** The answer, by a name that equal answers share. */
  answerName: string;
  answer: () => Answer;
  failed: boolean;
  /** What was written over, and by what, where the session's item was written. */
  session?: { before?: SessionState; after: SessionState };
  /** What the write did that no write may do. */
  faults: readonly string[];
}

/** More than any exploration meets, so that three numbers make one. */
const maxRequests = 2 ** 20;
const maxEpochs = 64;

const sessionItem = itemName(metaKey(sessionKey));

/** Table states and what requests make of them, each worked out once. */
export class Snapshots {
  private readonly items = new Interner<{ id: number }>();
  private readonly itemIds = new WeakMap<Item, number>();
  private readonly tables = new Interner<Snapshot>();
  private readonly outcomes = new Map<number, Outcome>();
  private readonly check: (before: Snapshot, after: Snapshot) => string[];

  /** @param check what is wrong with a change of the table */
  constructor(check: (before: Snapshot, after: Snapshot) => string[]) {
    this.check = check;
  }

  get empty(): Snapshot {
    return this.snapshot(new Map());
  }

  /**
   * @param requestId stands for `call`
   * @param epoch of the lease that the caller took: what it wrote as `owner` stands in the table as this number
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
    const items = new Map(before.items);
    try {
      const result = performCall(owned(items), call);
      const table = this.snapshot(items);
      const taken = isAcquire(call) ? Number(table.session?.epoch) : epoch;
      const wrote = call.op !== "get" && call.op !== "query" && call.op !== "queryIndex";
      const faults = wrote ? this.check(before, table) : [];
      const { session } = table;
      const changed = wrote && session && itemName(keyOf(call)) === sessionItem;
      return {
        table,
        ...this.answer(call.op === "update" ? items.get(itemName(call.key)) : result, taken),
        failed: false,
        ...(changed ? { session: { before: before.session, after: session } } : {}),
        faults,
      };
    } catch (error) {
      const failure = failureOf(error);
      return { table: before, answerName: failure, answer: () => ({ failure }), failed: true, faults: [] };
    }
  }

  private answer(result: Item | Item[] | undefined, epoch: number): Pick<Outcome, "answerName" | "answer"> {
    if (result === undefined) return { answerName: "-", answer: () => ({ value: undefined }) };
    if (!Array.isArray(result)) {
      const seen = seenBy(result, epoch);
      return { answerName: `i${this.itemId(seen)}`, answer: () => ({ value: structuredClone(seen) }) };
    }
    const name = result.map((item) => this.itemId(item)).join(",");
    return { answerName: `l${name}`, answer: () => ({ value: structuredClone(result) }) };
  }

  private itemId(item: Item): number {
    const known = this.itemIds.get(item);
    if (known !== undefined) return known;
    const { id } = this.items.of(canonicalJson(item), (number) => ({ id: number }));
    this.itemIds.set(item, id);
    return id;
  }

  private snapshot(items: Map<string, Item>): Snapshot {
    const names = [...items.keys()].sort();
    const name = names.map((one) => `${one}=${this.itemId(items.get(one)!)}`).join("\n");
    return this.tables.of(name, (id) => {
      const session = items.get(sessionItem);
      return { id, items, ...(session ? { session: toState(session) } : {}) };
    });
  }
}

/** A store in which the holder of a lease stands by its epoch, since that is a name which every run agrees on. */
function owned(items: Map<string, Item>): ItemStore {
  return {
    get: (name) => items.get(name),
    delete: (name) => items.delete(name),
    values: () => items.values(),
    set: (name, item) =>
      items.set(name, item.owner === ownName ? { ...item, owner: String(item.epoch) } : item),
  };
}

/** An item as the taker of a lease sees it: it knows itself, and nobody else, by the owner. */
function seenBy(item: Item, epoch: number): Item {
  if (item.owner === undefined) return item;
  return { ...item, owner: item.owner === String(epoch) ? ownName : "another" };
}

/** Whether this is the write by which a lease is taken. */
export function isAcquire(call: TableCall): boolean {
  return call.op === "update" && call.steps.some(({ op, path }) => op === "set" && path === "owner");
}

function keyOf(call: TableCall): { pk: string; sk: string } {
  if (call.op === "put") return call.item;
  return "key" in call ? call.key : { pk: "", sk: "" };
}

function failureOf(error: unknown): "condition" | "validation" {
  if (error instanceof ConditionFailed) return "condition";
  if (error instanceof ValidationException) return "validation";
  throw error;
}
