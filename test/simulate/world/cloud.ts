import { createMemoryStore, type ItemStore } from "../../../local/items/item-store.ts";
import type { TableCall } from "../../../local/items/table-call.ts";
import { tableOver } from "../../../local/world/local-table.ts";
import type { Frame } from "../../../shared/protocol/frames.ts";
import type { Item, Key, Table, TimerEvent, WakeAgent, World } from "../../../shared/world/world.ts";
import { createMemoryBucket, type MemoryBucket } from "../../support/memory-bucket.ts";
import type { Machine } from "../engine/machine.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { Network } from "./network.ts";

/** Schedules fire up to a minute late, and later with a fault. Milliseconds. */
const usualDelay = 20_000;
const longDelay = 180_000;

/** How much longer than a write to the table an upload may need. Milliseconds. */
const uploadMs = 150;

/** Callbacks of the services. */
export interface Events {
  /** A write was requested, whether or not its condition holds. */
  asked(call: TableCall): void;
  /** An item was written. `writer`: the machine's name. */
  written(key: Key, before: Item | undefined, after: Item | undefined, writer: string): void;
  /** A frame reached a connection. */
  posted(connectionId: string, frame: Frame): "sent" | "gone";
  woken(...event: Parameters<WakeAgent>): void;
  fired(event: TimerEvent): void;
}

/** The services that all machines share: table, bucket, connections, schedules, invocations. */
export class Cloud {
  readonly store: ItemStore;
  readonly bucket: MemoryBucket;
  /** Schedules that have not fired, by name. */
  readonly schedules = new Map<string, { at: number; event: TimerEvent }>();
  private readonly table: Table;
  private writer = "";

  private readonly timeline: Timeline;
  private readonly network: Network;
  private readonly events: Events;

  constructor(timeline: Timeline, network: Network, events: Events, mutate: (call: TableCall) => TableCall) {
    this.timeline = timeline;
    this.network = network;
    this.events = events;
    const store = createMemoryStore();
    const writer = () => this.writer;
    this.store = {
      ...store,
      write(key, change) {
        const before = store.get(key);
        const written = store.write(key, change);
        const after = store.get(key);
        if (after !== before)
          events.written(key, before as Item | undefined, after as Item | undefined, writer());
        return written;
      },
    };
    this.table = mutated(tableOver(this.store), mutate, events);
    this.bucket = createMemoryBucket({}, async () => {});
  }

  /** The services without network: for what is there before a schedule begins. */
  get direct(): World {
    return {
      ...this.worldOf(this.network.services),
      ...{ table: tableOver(this.store), bucket: this.bucket },
      schedules: { once: async (name, at, event) => this.schedule(name, at, event) },
    };
  }

  /** The outside world of one machine. */
  worldOf(machine: Machine): World {
    return {
      table: this.tableOf(machine),
      bucket: this.bucketOf(machine),
      gatewayUrl: "wss://gateway.example/ws",
      presigner: { get: async (key) => `https://bucket/${key}`, put: async (key) => `https://bucket/${key}` },
      sockets: {
        post: (connectionId, frame) =>
          this.network.request(machine, `post ${connectionId} ${nameOf(frame)}`, "write", async () =>
            this.events.posted(connectionId, frame),
          ),
        close: async () => {},
      },
      schedules: {
        once: (name, at, event) =>
          this.network.request(machine, `schedule ${event.kind} at ${at}`, "write", async () =>
            this.schedule(name, at, event),
          ),
      },
      secrets: { get: async () => undefined, put: async () => {}, delete: async () => {} },
      wake: (...event) =>
        this.network.request(machine, `wake ${event[0]}`, "write", async () => this.events.woken(...event)),
      now: () => machine.now(),
      pause: async () => true,
    };
  }

  private schedule(name: string, at: number, event: TimerEvent): void {
    if (this.schedules.has(name)) return;
    this.schedules.set(name, { at, event });
    const { faults } = this.network;
    const fault = faults.draw(["late", "double"], 8);
    const due = Math.ceil(at / 1000) * 1000;
    const delay = fault === "late" ? faults.between(60_000, longDelay) : this.timeline.jitter(usualDelay);
    const fire = () => {
      this.schedules.delete(name);
      this.events.fired(event);
    };
    this.timeline.at(due + delay, fire);
    if (fault === "double") this.timeline.at(due + delay + faults.between(0, 60_000), fire);
  }

  private tableOf(machine: Machine): Table {
    const { table, network } = this;
    const write = <T>(what: string, effect: () => Promise<T>) =>
      network.request(machine, what, "write", () => {
        this.writer = machine.name;
        return effect();
      });
    return {
      get: (key) => network.request(machine, `get ${key.pk} ${key.sk}`, "read", () => table.get(key)),
      put: (item, condition) => write(`put ${item.pk} ${item.sk}`, () => table.put(item, condition)),
      update: (key, steps, condition) => {
        const what = steps.map((step) => `${step.op} ${[step.path].flat().join(".")}`).join(", ");
        return write(`update ${key.pk} ${key.sk}: ${what}`, () => table.update(key, steps, condition));
      },
      delete: (key, condition) => write(`delete ${key.pk} ${key.sk}`, () => table.delete(key, condition)),
      query: (query) => network.request(machine, `query ${query.pk}`, "read", () => table.query(query)),
      queryIndex: (query) =>
        network.request(machine, `index ${query.index}`, "read", () => table.queryIndex(query)),
    };
  }

  private bucketOf(machine: Machine): World["bucket"] {
    const { bucket, network } = this;
    // Every model call reads the prompt's files, and they are irrelevant here.
    const read = <T>(what: string, key: string, effect: () => Promise<T>) =>
      isOfPrompt(key) ? effect() : network.request(machine, `${what} ${key}`, "read", effect);
    const write = <T>(what: string, key: string, effect: () => Promise<T>) =>
      network.request(machine, `${what} ${key}`, "write", effect, isOfPrompt(key) ? uploadMs : 0);
    return {
      get: (key) => read("download", key, () => bucket.get(key)),
      getIfChanged: (key, etag) => read("download", key, () => bucket.getIfChanged(key, etag)),
      head: (key) => read("head", key, () => bucket.head(key)),
      getStream: (key) => read("download", key, () => bucket.getStream(key)),
      put: (key, body, options) => write("upload", key, () => bucket.put(key, body, options)),
      async putStream(key, body, options) {
        const pieces: Uint8Array[] = [];
        for await (const piece of body) pieces.push(piece);
        return write("upload", key, () => bucket.put(key, Buffer.concat(pieces), options));
      },
      delete: (key, options) => write("remove", key, () => bucket.delete(key, options)),
      list: (prefix, delimiter) => read("list", prefix, () => bucket.list(prefix, delimiter)),
    };
  }
}

function isOfPrompt(key: string): boolean {
  return key.startsWith("skills/") || (key.startsWith("agents/") && !key.includes("/sessions/"));
}

function nameOf(frame: Frame): string {
  if (frame.type !== "evt") return frame.type;
  const { state, runId } = (frame.payload ?? {}) as { state?: string; runId?: string };
  return [frame.event, state, runId].filter((part) => part !== undefined).join(" ");
}

/** A table that changes writes before they take effect, to show that the checks find it. */
function mutated(table: Table, mutate: (call: TableCall) => TableCall, { asked }: Events): Table {
  const changedOf = <Call extends TableCall>(call: Call): Call => {
    const changed = mutate(call);
    asked(call);
    // A mutation returns a call of the same kind.
    return changed as Call;
  };
  return {
    ...table,
    put: (item, condition) => {
      const call = changedOf({ op: "put", item, condition });
      return table.put(call.item, call.condition);
    },
    update: (key, steps, condition) => {
      const call = changedOf({ op: "update", key, steps, condition });
      return table.update(call.key, call.steps, call.condition);
    },
    delete: (key, condition) => table.delete(key, changedOf({ op: "delete", key, condition }).condition),
  };
}
