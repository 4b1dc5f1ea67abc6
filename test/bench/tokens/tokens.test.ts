import { describe, expect, it } from "vitest";
import { setLogOutput } from "../../../shared/runtime/log.ts";
import { eventsOf, textOf } from "./day.ts";
import { idealDollars, prices } from "./prices.ts";
import { anthropicCache, openAiCache } from "./prompt-caches.ts";
import { replay } from "./replay.ts";

const minute = 60_000;
const mark = { cache_control: { type: "ephemeral" } };
const text = (seed: number, characters = 8000) => ({ type: "text", text: textOf(characters, seed) });
const body = (...blocks: object[]) => ({
  system: [{ ...text(1), ...mark }],
  messages: [{ role: "user", content: blocks }],
});

describe("Anthropic's cache", () => {
  it("reads what an earlier request wrote, and writes the rest", () => {
    const cache = anthropicCache();
    const first = cache.bill(body({ ...text(2), ...mark }), 0);
    expect(first.read).toBe(0);
    expect(first.write).toBe(first.total);
    const second = cache.bill(body(text(2), { ...text(3), ...mark }), minute);
    expect(second.read).toBe(first.total);
    expect(second.write).toBe(second.total - first.total);
  });

  it("forgets after five minutes without a hit, which a hit renews, and after an hour with the long lifetime", () => {
    const cache = anthropicCache();
    const request = body({ ...text(2), ...mark });
    const { total } = cache.bill(request, 0);
    expect(cache.bill(request, 4 * minute).read).toBe(total);
    expect(cache.bill(request, 8 * minute).read).toBe(total);
    expect(cache.bill(request, 14 * minute).read).toBe(0);
    const long = { cache_control: { type: "ephemeral", ttl: "1h" } };
    const kept = anthropicCache();
    const slow = { messages: [{ role: "user", content: [{ ...text(1), ...long }] }] };
    const billed = kept.bill(slow, 0);
    expect(billed).toMatchObject({ read: 0, write: 0, writeLong: billed.total });
    expect(kept.bill(slow, 59 * minute).read).toBe(billed.total);
    expect(kept.bill(slow, 120 * minute).read).toBe(0);
  });

  it("looks back 20 blocks from a breakpoint, and caches no prefix below 1,024 tokens", () => {
    const cache = anthropicCache();
    const blocks = (count: number) => Array.from({ length: count }, (_, index) => text(index, 8000));
    const messages = (count: number) => ({
      messages: [
        {
          role: "user",
          content: blocks(count).map((one, index) => (index === count - 1 ? { ...one, ...mark } : one)),
        },
      ],
    });
    const { total } = cache.bill(messages(1), 0);
    expect(cache.bill(messages(21), 0).read).toBe(total);
    const other = anthropicCache();
    other.bill(messages(1), 0);
    expect(other.bill(messages(22), 0).read).toBe(0);
    const small = { messages: [{ role: "user", content: [{ ...text(1, 3000), ...mark }] }] };
    expect(other.bill(small, 0)).toMatchObject({ read: 0, write: 0 });
    expect(other.bill(small, 0).read).toBe(0);
  });
});

it("OpenAI's cache matches prefixes in steps of 128 tokens, from 1,024 on, for five minutes", () => {
  const cache = openAiCache();
  const request = (last: number) => ({
    messages: [
      { role: "system", content: textOf(8000, 1) },
      { role: "user", content: textOf(900, last) },
    ],
  });
  cache.bill(request(1), 0);
  const { read } = cache.bill(request(2), minute);
  expect(read % 128).toBe(0);
  expect(read).toBeGreaterThan(1900);
  expect(read).toBeLessThan(2100);
  expect(cache.bill(request(3), 7 * minute).read).toBe(0);
  const short = { messages: [{ role: "user", content: textOf(3000, 5) }] };
  cache.bill(short, 0);
  expect(cache.bill(short, 0).read).toBe(0);
});

it("the ideal writes every token once in a lifetime, the cheaper one of two", () => {
  const sent = (at: number, total: number) => ({
    session: "s",
    at: at * minute,
    total,
    fixed: 1000,
    output: 0,
  });
  const of = prices.anthropic;
  const cost = (read: number, write: number) => (read * of.read + write * of.write) / 1e6;
  expect(idealDollars([sent(0, 2000), sent(1, 3000)], of)).toBeCloseTo(cost(2000, 3000), 9);
  const slow = [0, 6, 12, 18].map((at, index) => sent(at, 10_000 + index));
  expect(idealDollars(slow, of)).toBeCloseTo((10_003 * of.writeLong + 30_003 * of.read) / 1e6, 9);
});

it.each(["anthropic", "openai"] as const)(
  "a replayed day is billed by %s, at least as the ideal",
  async (wire) => {
    const restore = setLogOutput(() => {});
    const bill = await replay(eventsOf("sparse").slice(0, 8), wire).finally(restore);
    expect(bill.requests).toBe(11);
    expect(bill.usd).toBeGreaterThanOrEqual(bill.idealUsd);
    expect(bill.newShare).toBeGreaterThan(0);
  },
);
