import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { withDeadline } from "../../../functions/agent/model/deadline.ts";

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

it("a deadline aborts the work when its time has passed", async () => {
  const passed = await withDeadline(new AbortController().signal, 1, async (deadline) => {
    await aborted(deadline.signal);
    return deadline.passed;
  });
  expect(passed).toBe(true);
});

it("a deadline aborts the work early with the other signal, before or during the work", async () => {
  const passed = await withDeadline(AbortSignal.abort(), 60_000, async (deadline) => {
    expect(deadline.signal.aborted).toBe(true);
    return deadline.passed;
  });
  expect(passed).toBe(false);
  const earlier = new AbortController();
  await withDeadline(earlier.signal, 60_000, async (deadline) => {
    earlier.abort();
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.passed).toBe(false);
  });
});

it.each(["well", "badly"])(
  "a deadline leaves no timer and no listener after the work has ended %s",
  async (how) => {
    const earlier = new AbortController();
    let used: AbortSignal | undefined;
    const work = withDeadline(earlier.signal, 5, async ({ signal }) => {
      used = signal;
      if (how === "badly") throw new Error("no");
    });
    await work.catch(() => {});
    expect(getEventListeners(earlier.signal, "abort")).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(used?.aborted).toBe(false);
  },
);
