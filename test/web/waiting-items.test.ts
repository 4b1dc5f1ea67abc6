import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WaitingItems } from "../../web/state/waiting-items.ts";
import type { PageConnection } from "../../web/wire/page-connection.ts";

/** A gateway with an account that fails, and senders who come. */
const answers: Record<string, object> = {
  "pair.list": { pairs: {} },
  "budget.list": { rules: [] },
  "mcp.list": { servers: [] },
  "channels.list": {
    channels: [
      { channel: "telegram", accountId: "a" },
      { channel: "telegram", accountId: "b" },
    ],
  },
  "channel.status": {
    channel: "telegram",
    accounts: [
      { accountId: "a", error: "401", extra: {} },
      { accountId: "b", error: "stopped", extra: { stopped: true } },
    ],
  },
};
const minute = 60_000;

describe("what waits for the user", () => {
  const asked: string[] = [];
  const connection = {
    state: { status: "connected" },
    request: async (method: string) => {
      asked.push(method);
      return answers[method];
    },
  } as unknown as PageConnection;
  const count = (method: string) => asked.filter((one) => one === method).length;
  beforeEach(() => {
    asked.length = 0;
    vi.useFakeTimers();
  });
  afterEach(() => vi.useRealTimers());

  it("is read every minute in view, and the accounts of messengers every ten minutes", async () => {
    const waiting = new WaitingItems(connection);
    let isInView = true;
    const end = waiting.watch(() => isInView);
    await vi.advanceTimersByTimeAsync(minute);
    expect([waiting.count.value, waiting.channels.value[0]?.accountId]).toEqual([1, "a"]);
    answers["pair.list"] = { pairs: { "telegram:a:7": { senderId: "7" } } };
    await vi.advanceTimersByTimeAsync(minute);
    expect(waiting.count.value).toBe(2);
    expect([count("pair.list"), count("channel.status")]).toEqual([2, 1]);
    await vi.advanceTimersByTimeAsync(9 * minute);
    expect([count("pair.list"), count("channel.status")]).toEqual([11, 2]);
    isInView = false;
    await vi.advanceTimersByTimeAsync(5 * minute);
    expect(count("pair.list")).toBe(11);
    isInView = true;
    end();
    await vi.advanceTimersByTimeAsync(5 * minute);
    expect(count("pair.list")).toBe(11);
    await waiting.read(true);
    expect(count("channel.status")).toBe(3);
  });
});
