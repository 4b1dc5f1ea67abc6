import { afterAll, beforeAll, expect, it } from "vitest";
import type { Platform } from "../support/platforms/platforms.ts";
import { Life, startTurnBench, type TurnBench } from "./turn-bench.ts";

let platform: Platform;
let bench: TurnBench;

beforeAll(async () => {
  ({ platform, bench } = await startTurnBench("telegram"));
});
afterAll(() => bench.close());

const be = (role: "owner" | "guest") =>
  bench.configure({ dmPolicy: "open", owners: role === "owner" ? Object.values(platform.people) : [] });

it.each([
  ["owner", "guest"],
  ["guest", "owner"],
] as const)(
  "a message written as %s is answered once when its redelivery finds the sender to be %s",
  async (first, then) => {
    let isWhole = false;
    for (let calls = 1; !isWhole; calls++) {
      bench.renew();
      // The sender has a session for each role.
      for (const role of [first, then]) {
        be(role);
        await bench.deliver(platform.direct(`as ${role}`));
        await bench.runAgents();
      }
      const asked = bench.asked;
      be(first);
      const event = platform.direct("hello");
      const life = new Life(calls);
      isWhole = (await bench.deliver(event, life)) && !life.isOver;
      be(then);
      expect(await bench.deliver(event)).toBe(true);
      for (let sweeps = 0; sweeps < 3; sweeps++) {
        bench.pass(60_000);
        await bench.runAgents();
        await bench.sweep();
      }
      expect(bench.asked - asked, `killed after ${calls} calls: ${life.calls}`).toBe(1);
    }
  },
);

it.each([
  ["owner", "guest", "a session"],
  ["owner", "guest", "no session"],
  ["guest", "owner", "no session"],
] as const)(
  "a message that a paused process appends as that of %s after its redelivery as %s, with %s before, is answered once",
  async (first, then, before) => {
    bench.renew();
    be(first);
    if (before === "a session") await bench.deliver(platform.direct("before"));
    await bench.runAgents();
    const asked = bench.asked;
    const event = platform.direct("hello");
    const { table } = bench;
    let isPaused = false;
    bench.table = {
      ...table,
      async update(...call) {
        if (call[1].some(({ path }) => path === "inbox") && !isPaused) {
          isPaused = true;
          be(then);
          await bench.deliver(event);
        }
        return table.update(...call);
      },
    };
    await bench.deliver(event);
    bench.table = table;
    await bench.runAgents();
    await bench.sweep();
    expect(isPaused).toBe(true);
    expect(bench.asked - asked).toBe(1);
  },
);

it("a message is not lost when a process dies after the former owner's session has refused it", async () => {
  let isWhole = false;
  for (let calls = 1; !isWhole; calls++) {
    bench.renew();
    be("owner");
    await bench.deliver(platform.direct("before"));
    await bench.runAgents();
    const event = platform.direct("hello");
    await bench.dying(event, 1);
    be("guest");
    const life = new Life(calls);
    isWhole = (await bench.deliver(event, life)) && !life.isOver;
    be("owner");
    await bench.deliver(platform.direct("between"));
    await bench.runAgents();
    be("guest");
    expect(await bench.deliver(event)).toBe(true);
    await bench.runAgents();
    for (let sweeps = 0; sweeps < 3; sweeps++) await bench.sweep();
    expect(bench.asked, `killed after ${calls} calls: ${life.calls}`).toBe(3);
  }
});

it("a message that the present session has refused is redelivered until it is accepted", async () => {
  const hour = 3_600_000;
  bench.renew();
  be("owner");
  await bench.deliver(platform.direct("before"));
  await bench.runAgents();
  const event = platform.direct("hello");
  await bench.dying(event, 1);
  be("guest");
  const { table } = bench;
  bench.table = {
    ...table,
    async update(...call) {
      if (call[1].some(({ path }) => path === "inbox"))
        throw new Error("died before the guest's session had it");
      return table.update(...call);
    },
  };
  expect(await bench.deliver(event)).toBe(false);
  bench.table = table;
  be("owner");
  expect(await bench.deliver(event)).toBe(false);
  bench.pass(hour + 1);
  await bench.deliver(platform.direct("between"));
  await bench.runAgents();
  expect(await bench.deliver(event)).toBe(true);
  await bench.runAgents();
  expect(bench.asked).toBe(3);
});
