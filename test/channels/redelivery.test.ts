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

it("a message that a paused process appends after its redelivery, as the former owner's, is answered once", async () => {
  bench.renew();
  be("owner");
  await bench.deliver(platform.direct("before"));
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
        be("guest");
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
});

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
