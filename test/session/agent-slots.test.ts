import { beforeEach, expect, it } from "vitest";
import { sweepAndRecord } from "../../functions/timer/sweep.ts";
import type { Timer } from "../../functions/timer/timer.ts";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { listFaults } from "../../shared/runtime/faults.ts";
import { maxAgentsOf } from "../../shared/runtime/max-agents.ts";
import { openAgentSlots } from "../../shared/session/agent-slots.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import { acquire, leaseMs } from "../../shared/session/lease.ts";
import { ConditionFailed, type Table, type WakeAgent } from "../../shared/world/world.ts";

let table: Table;
let clock: number;
/** The events of the agent, oldest first. */
let woken: { sessionKey: string; slot: string }[];
beforeEach(() => {
  table = createMemoryTable();
  clock = 1_000_000;
  woken = [];
});

function slotsFor(maxAgents: number, over: Table = table) {
  const wake: WakeAgent = async (sessionKey, _version, slot = "") => void woken.push({ sessionKey, slot });
  const opened = openAgentSlots({ table: over, wake, now: () => clock }, maxAgents);
  return { wake: opened.wake, ...opened.slots };
}

const keys = (count: number) => Array.from({ length: count }, (_, i) => `agent:main:${i}`);
const wokenKeys = () => woken.map(({ sessionKey }) => sessionKey);

/** Runs the agents that were woken, one after the other, until no further one is. */
async function runAll(maxAgents: number): Promise<string[]> {
  const ran: string[] = [];
  for (const { sessionKey, slot } of woken)
    await slotsFor(maxAgents).hold(slot, sessionKey, async () => void ran.push(sessionKey));
  return ran;
}

it("three executions are left to other functions, and large accounts have no limit", () => {
  expect([1, 3, 10, 50, 99, 100, 1000].map(maxAgentsOf)).toEqual([1, 1, 7, 47, 96, undefined, undefined]);
});

it("sessions without a slot are served in the order in which they were woken", async () => {
  const { wake } = slotsFor(7);
  for (const key of keys(40)) await wake(key);
  expect(wokenKeys()).toEqual(keys(7));
  expect(await runAll(7)).toEqual(keys(40));
});

it("each end of an agent wakes one session", async () => {
  const { wake, hold } = slotsFor(2);
  for (const key of keys(4)) await wake(key);
  let during: string[] = [];
  await hold(woken[0]!.slot, woken[0]!.sessionKey, async () => {
    during = wokenKeys();
  });
  expect(during).toEqual(keys(2));
  expect(wokenKeys()).toEqual(keys(3));
});

it("concurrent functions neither exceed the limit nor lose a session", async () => {
  await Promise.all(keys(40).map((key) => slotsFor(7).wake(key)));
  expect(woken).toHaveLength(7);
  let running = 7;
  let most = 0;
  // Seven agents at a time, each of which ends when the others may.
  for (let begun = 0; begun < woken.length; begun += running) {
    const batch = woken.slice(begun);
    running = batch.length;
    most = Math.max(most, running);
    await Promise.all(
      batch.map(({ slot, sessionKey }) => slotsFor(7).hold(slot, sessionKey, async () => {})),
    );
  }
  expect(most).toBe(7);
  expect(wokenKeys().sort()).toEqual(keys(40).sort());
});

it("a session that is woken again while it waits keeps its place, and waits once", async () => {
  const { wake } = slotsFor(1);
  for (const key of ["a", "b", "c", "b", "c", "b"]) await wake(key);
  expect(await runAll(1)).toEqual(["a", "b", "c"]);
});

it("a session that is woken while its agent runs is served after it", async () => {
  const { wake, hold } = slotsFor(1);
  await wake("a");
  await hold(woken[0]!.slot, "a", () => wake("a"));
  expect(wokenKeys()).toEqual(["a", "a"]);
});

it("an agent that fails gives its slot on, and its repeated event waits for its turn", async () => {
  const { wake, hold } = slotsFor(1);
  for (const key of ["a", "b"]) await wake(key);
  const { slot } = woken[0]!;
  const failing = hold(slot, "a", () => Promise.reject(new Error("broken")));
  await expect(failing).rejects.toThrow("broken");
  expect(wokenKeys()).toEqual(["a", "b"]);
  await hold(slot, "a", () => Promise.reject(new Error("it has no slot")));
  expect(wokenKeys()).toEqual(["a", "b"]);
  await hold(woken[1]!.slot, "b", async () => {});
  expect(wokenKeys()).toEqual(["a", "b", "a"]);
});

it("a change whose answer was lost, which the SDK repeats, wakes its agents once", async () => {
  const put: Table["put"] = async (...write) => {
    await table.put(...write);
    throw new ConditionFailed();
  };
  const repeating = { ...table, put };
  await slotsFor(1, repeating).wake("a");
  await slotsFor(1).wake("b");
  expect(wokenKeys()).toEqual(["a"]);
  await slotsFor(1, repeating).hold(woken[0]!.slot, "a", async () => {});
  expect(wokenKeys()).toEqual(["a", "b"]);
});

const entry = { id: "m", at: 0, origin: { kind: "client" }, kind: "message", text: "hello" } as const;

/** Sessions with a message, of which the first two have a slot. */
async function crowd(): Promise<ReturnType<typeof slotsFor>> {
  const slots = slotsFor(2);
  for (const key of keys(4)) {
    await appendEntry(table, key, entry, clock);
    await slots.wake(key);
  }
  return slots;
}

it("the slot of an agent that died is free once its lease has expired", async () => {
  const slots = await crowd();
  const [dead = "", alive = ""] = keys(2);
  await acquire(table, dead, "dead", clock);
  clock += leaseMs;
  await acquire(table, alive, "alive", clock);
  await slots.reclaim();
  expect(wokenKeys()).toEqual(keys(2));
  clock += 1;
  expect([...(await slots.reclaim())].sort()).toEqual(keys(4).slice(1));
  expect(wokenKeys()).toEqual(keys(3));
});

it("a higher limit counts from the next sweep", async () => {
  await crowd();
  await slotsFor(3).reclaim();
  expect(wokenKeys()).toEqual(keys(3));
});

it("the sweep reports sessions that wait for their turn to nobody, and puts the others in the queue", async () => {
  const slots = await crowd();
  const sweep = () => {
    const timer = { table, wake: slots.wake, slots, now: () => clock };
    return sweepAndRecord(timer as unknown as Timer, () => 60_000);
  };
  clock += 1000;
  await sweep();
  expect(await listFaults(table, clock)).toEqual([]);
  await appendEntry(table, "agent:main:left", entry, clock);
  await sweep();
  expect(await listFaults(table, clock)).toMatchObject([{ name: "agent", kind: "left" }]);
  expect(await runAll(2)).toEqual([...keys(4), "agent:main:left"]);
});
