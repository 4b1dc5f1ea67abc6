import { calculateCost, type Model } from "@earendil-works/pi-ai";
import { builtinProviders } from "@earendil-works/pi-ai/providers/all";
import { describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { hasPrice, type PricedUsage, priceOf, upperBound } from "../../shared/spend/price.ts";
import { seededRandom } from "../support/random.ts";

const { budgets } = defaults;
const catalogue = builtinProviders().flatMap((provider) => provider.getModels() as readonly Model<string>[]);
const priced = catalogue.filter(({ cost }) => hasPrice(cost));
const usage = (some: Partial<PricedUsage>): PricedUsage => ({
  ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  ...some,
});

describe("the price of a call", () => {
  it("is pi-ai's for 200 usages of cached, hour-long, tiered and Bedrock calls, with its sum and without", () => {
    const random = seededRandom(27);
    const cached = priced.filter(({ cost }) => cost.cacheRead > 0 && cost.cacheWrite > 0);
    const groups = [
      cached.filter(({ provider }) => provider === "anthropic"),
      cached.filter(({ provider }) => provider === "amazon-bedrock"),
      priced.filter(({ cost }) => cost.tiers?.every(({ cacheRead }) => cacheRead > 0) && cost.cacheRead > 0),
      cached,
    ];
    for (let index = 0; index < 200; index++) {
      const group = index % groups.length;
      const { provider, id, cost } = random.pick(groups[group] ?? []);
      const cacheWrite = group === 2 ? 0 : random.integer(50_000);
      const tokens = {
        ...{ input: random.integer(300_000), output: random.integer(20_000) },
        ...{ cacheRead: random.integer(200_000), cacheWrite },
        cacheWrite1h: group < 2 ? random.integer(cacheWrite + 1) : 0,
      };
      const theirs = calculateCost({ provider, id, cost } as Model<string>, {
        ...tokens,
        totalTokens: 0,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
      });
      for (const used of [tokens, { ...tokens, cost: theirs }]) {
        const { micros, source } = priceOf(used, cost, `${provider}/${id}`, budgets);
        expect([source, Math.abs(micros - theirs.total * 1e6) <= 1], `${provider}/${id}`).toEqual([
          "catalogue",
          true,
        ]);
      }
    }
  });

  it("is never 0 for a model of the catalogue, and an estimate where the catalogue has no price", () => {
    const free = catalogue.filter(({ cost }) => !hasPrice(cost));
    expect(free.length).toBeGreaterThan(50);
    for (const { provider, id, cost } of catalogue) {
      for (const tokens of [{ input: 1000 }, { output: 1000 }, { cacheRead: 1000 }, { cacheWrite: 1000 }]) {
        const { micros, source } = priceOf(usage(tokens), cost, `${provider}/${id}`, budgets);
        // Embeddings and a few other models bill only input.
        if (cost.output > 0 || !("output" in tokens) || !hasPrice(cost))
          expect(micros, id).toBeGreaterThan(0);
        expect(source).toBe(hasPrice(cost) ? "catalogue" : "unknown-estimate");
      }
    }
  });

  it("counts cached tokens as input where the catalogue has no price for them", () => {
    const listed = { input: 2, output: 8, cacheRead: 0, cacheWrite: 0 };
    const cost = { input: 2e-5, output: 0, cacheRead: 0, cacheWrite: 0, total: 2e-5 };
    const used = usage({ input: 10, cacheRead: 100, cacheWrite: 5, cost });
    expect(priceOf(used, listed, "a/b", budgets).micros).toBe(230);
  });

  it("is the configured one before the catalogue's, the server's before the estimate, and only a configured 0 is free", () => {
    const listed = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
    const used = usage({ input: 1000, output: 100, cacheRead: 1000, cacheWrite: 1000 });
    const free = { ...budgets, prices: { "a/b": { input: 0, output: 0 } } };
    expect(priceOf(used, listed, "a/b", free)).toEqual({ micros: 0, source: "config", savedMicros: 0 });
    const own = { ...budgets, prices: { "a/b": { input: 4, output: 10, cacheRead: 1 } } };
    expect(priceOf(used, listed, "a/b", own)).toMatchObject({ micros: 11_000, source: "config" });
    const reported = { ...used, cost: 0.0123 };
    expect(priceOf(reported, undefined, "a/b", budgets)).toMatchObject({
      micros: 12_300,
      source: "reported",
    });
    const zero = { ...used, cost: 0 };
    expect(priceOf(zero, undefined, "a/b", budgets)).toMatchObject({
      micros: 18_750,
      source: "unknown-estimate",
    });
    expect(priceOf(used, undefined, "a/b", { ...budgets, unknownPrice: "refuse" }).micros).toBe(18_750);
  });

  it("says what the cache saved, and what writing to it cost more", () => {
    const listed = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
    expect(priceOf(usage({ cacheRead: 1_000_000 }), listed, "a/b", budgets).savedMicros).toBe(2_700_000);
    expect(priceOf(usage({ cacheWrite: 1_000_000 }), listed, "a/b", budgets).savedMicros).toBe(-750_000);
  });
});

describe("the upper bound of a call", () => {
  it("is never below the price, whatever is cached and whichever tier applies", () => {
    const random = seededRandom(28);
    for (const { provider, id, cost } of catalogue) {
      const inputTokens = 1 + random.integer(400_000);
      const cacheRead = random.integer(inputTokens);
      const cacheWrite = random.integer(inputTokens - cacheRead);
      const output = random.integer(20_000);
      const long = provider === "anthropic" ? random.integer(cacheWrite + 1) : 0;
      const tokens = {
        input: inputTokens - cacheRead - cacheWrite,
        cacheRead,
        cacheWrite,
        cacheWrite1h: long,
      };
      const bound = upperBound({ inputTokens }, cost, `${provider}/${id}`, budgets);
      if (bound === "refused") throw new Error("no price is refused by default");
      const { micros } = priceOf({ ...tokens, output }, cost, `${provider}/${id}`, budgets);
      expect(micros, id).toBeLessThanOrEqual(
        Math.ceil(bound.inputMicros + output * bound.outputMicrosPerToken),
      );
    }
  });

  it("knows how long the request is cached", () => {
    const listed = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
    const input = (cacheRetention?: "none" | "short" | "long") =>
      upperBound(
        { inputTokens: 1000, ...(cacheRetention ? { cacheRetention } : {}) },
        listed,
        "a/b",
        budgets,
      );
    expect([input("none"), input("short"), input("long"), input()]).toMatchObject(
      [3000, 3750, 6000, 6000].map((inputMicros) => ({ inputMicros, outputMicrosPerToken: 15 })),
    );
  });

  it("is refused when the price is unknown and unknown prices are", () => {
    const refuse = { ...budgets, unknownPrice: "refuse" as const };
    expect(upperBound({ inputTokens: 1 }, undefined, "a/b", refuse)).toBe("refused");
    expect(upperBound({ inputTokens: 1 }, undefined, "a/b", { ...refuse, enabled: false })).not.toBe(
      "refused",
    );
    const known = { ...refuse, prices: { "a/b": { input: 0, output: 0 } } };
    expect(upperBound({ inputTokens: 1 }, undefined, "a/b", known)).toMatchObject({ inputMicros: 0 });
  });
});
