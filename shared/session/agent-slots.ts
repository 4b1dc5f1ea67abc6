import { randomUUID } from "node:crypto";
import { logError } from "../runtime/log.ts";
import { absent, equal } from "../world/expression.ts";
import {
  type AgentSlots,
  type Item,
  type Key,
  succeeds,
  type WakeAgent,
  type World,
} from "../world/world.ts";
import { isExtracting } from "./extraction.ts";
import { leaseMs } from "./lease.ts";
import { readSession } from "./sessions.ts";
import { isLeased } from "./state.ts";

/** An invocation of the agent that was started and has not ended. */
interface Slot {
  id: string;
  sessionKey: string;
  /** Epoch ms. */
  at: number;
}

interface Slots {
  version: number;
  running: Slot[];
  /** The sessions that wait for a slot, in turn. */
  waiting: string[];
}

const key: Key = { pk: "SLOTS", sk: "AGENTS" };

/** The sweep finds sessions that wait beyond this number: an item has at most 400 KB. */
const maxWaiting = 500;

/** The world with a `wake` that lets at most `maxAgents` agents run at a time; the same world without that limit. */
export function inTurn(world: World): World {
  const { maxAgents } = world;
  return maxAgents === undefined ? world : { ...world, ...openAgentSlots(world, maxAgents) };
}

/**
 * Lets at most `maxAgents` agents run at a time, and wakes the other sessions in the order in which they were first woken. One
 * item has the slots and the queue, so each change is one conditional write. It only plans when sessions are worked on: what is
 * to be done is in their items, and the sweep finds those that a crash has removed from the plan.
 */
export function openAgentSlots(
  { table, wake, now }: Pick<World, "table" | "wake" | "now">,
  maxAgents: number,
): { wake: WakeAgent; slots: AgentSlots } {
  /**
   * Changes the slots, gives free ones to the sessions that wait longest, and invokes their agents.
   * @param plan undefined: nothing else is to be changed
   */
  async function change(plan: (slots: Slots) => Slots | undefined): Promise<Slots> {
    const own = randomUUID();
    const slots = await write(own, plan);
    const begun = slots.running.filter(({ id }) => id.startsWith(own));
    await Promise.all(begun.map(({ id, sessionKey }) => wake(sessionKey, undefined, id)));
    return slots;
  }

  /** @param own the beginning of the ids of new slots, by which a write whose response was lost is recognized */
  async function write(own: string, plan: (slots: Slots) => Slots | undefined): Promise<Slots> {
    for (;;) {
      const before = await read();
      if (before.running.some(({ id }) => id.startsWith(own))) return before;
      const planned = plan(before);
      const admitted = admit(planned ?? before, own);
      if (!planned && admitted.waiting.length === before.waiting.length) return before;
      const next = { ...admitted, version: before.version + 1 };
      const unchanged = before.version > 0 ? equal("version", before.version) : absent("pk");
      if (await succeeds(table.put({ ...key, ...(next as unknown as Item) }, unchanged))) return next;
    }
  }

  function admit({ running, waiting, ...rest }: Slots, own: string): Slots {
    const next = waiting.slice(0, Math.max(0, maxAgents - running.length));
    const begun = next.map((sessionKey, i) => ({ id: `${own}-${i}`, sessionKey, at: now() }));
    return { ...rest, running: [...running, ...begun], waiting: waiting.slice(next.length) };
  }

  async function read(): Promise<Slots> {
    const item = (await table.get(key)) as unknown as Slots | undefined;
    return item ?? { version: 0, running: [], waiting: [] };
  }

  const queue = async (sessionKey: string): Promise<void> => {
    await change(({ waiting, ...slots }) =>
      waiting.includes(sessionKey) || waiting.length >= maxWaiting
        ? undefined
        : { ...slots, waiting: [...waiting, sessionKey] },
    );
  };

  const free = (ids: readonly string[]) =>
    change(({ running, ...slots }) => {
      const left = running.filter(({ id }) => !ids.includes(id));
      return left.length < running.length ? { ...slots, running: left } : undefined;
    });

  /** Whether an agent works on the session, or its event may still be on its way. */
  const isAlive = async ({ sessionKey, at }: Slot): Promise<boolean> => {
    if (at + leaseMs >= now()) return true;
    const state = await readSession(table, sessionKey);
    return (state && isLeased(state, now())) || isExtracting(table, sessionKey, now());
  };

  const slots: AgentSlots = {
    async hold(slot, sessionKey, work) {
      const { running } = await read();
      // Lambda repeats the event, or delivered it so late that the slot was reclaimed.
      if (!running.some(({ id }) => id === slot)) return queue(sessionKey);
      try {
        await work();
      } finally {
        await free([slot]).catch((error: unknown) => logError("slot.free", error, { sessionKey }));
      }
    },
    async reclaim() {
      const before = await read();
      if (before.running.length + before.waiting.length === 0) return new Set();
      const alive = await Promise.all(before.running.map(isAlive));
      const dead = before.running.filter((_, i) => !alive[i]);
      const { running, waiting } = await free(dead.map(({ id }) => id));
      return new Set([...running.map(({ sessionKey }) => sessionKey), ...waiting]);
    },
  };
  return { wake: queue, slots };
}
