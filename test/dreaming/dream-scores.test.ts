import { describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { dreamPlan, dreamSettings, nextSweep } from "../../shared/dreaming/plan-dream.ts";
import { type RecallHit, scoreOf, signalsOf } from "../../shared/dreaming/recall-signals.ts";

const dayMs = 86_400_000;
const now = Date.parse("2026-04-24T12:00:00Z");
const { weights } = defaults.dreaming;
const hit = (query: string, daysAgo = 0, rank = 1): RecallHit => ({ query, rank, at: now - daysAgo * dayMs });
const hits = (count: number, rank = 1, daysAgo = 0) =>
  Array.from({ length: count }, (_, i) => hit(`question ${"abcdefghij"[i % 10]}${i}`, daysAgo, rank));

describe("recall signals", () => {
  it.each([
    [1, 0.356],
    [3, 0.712],
    [5, 0.921],
    [6, 1],
    [100, 1],
  ])("I27: %i recalls have the frequency %f", (count, frequency) => {
    expect(signalsOf(hits(count), "project", now).frequency).toBeCloseTo(frequency, 3);
  });

  it("I26: a hit counts one divided by its place, and the relevance is the mean", () => {
    expect(signalsOf([hit("a", 0, 1), hit("b", 0, 2), hit("c", 0, 4)], "user", now).relevance).toBeCloseTo(
      (1 + 1 / 2 + 1 / 4) / 3,
    );
  });

  it("I27: diversity is by questions or days, whichever are more, full from five on", () => {
    const diversity = (of: RecallHit[]) => signalsOf(of, "project", now).diversity;
    expect(diversity([hit("tea"), hit("tea", 1), hit("tea", 2)])).toBeCloseTo(0.6);
    expect(diversity([hit("tea"), hit("coffee"), hit("milk"), hit("juice")])).toBeCloseTo(0.8);
    expect(diversity(hits(9))).toBe(1);
  });

  it("I27: days are those of UTC", () => {
    const late = Date.parse("2026-04-23T23:59:59Z");
    const of = [
      { query: "a", rank: 1, at: late },
      { query: "a", rank: 1, at: late + 2000 },
    ];
    expect(signalsOf(of, "project", now).uniqueDays).toBe(2);
  });

  it("I30: three spellings of one question are one question", () => {
    const { uniqueQueries, recallCount } = signalsOf(
      [hit("What does Ada drink?"), hit("what does ada DRINK"), hit("Ada drinks")],
      "project",
      now,
    );
    expect([uniqueQueries, recallCount]).toEqual([1, 3]);
    expect(signalsOf([hit("the"), hit("and")], "project", now).uniqueQueries).toBe(2);
  });

  it.each([
    ["user", 10_000],
    ["feedback", 365],
    ["project", 90],
    ["reference", 10_000],
  ] as const)("I28: the recency of a memory of the type %s is halved in %i days", (type, days) => {
    expect(signalsOf([hit("a", days)], type, now).recency).toBeCloseTo(0.5, 9);
    expect(signalsOf([hit("a", -1)], type, now).recency).toBe(1);
  });
});

describe("the score", () => {
  it("I29: is the weighted sum, 0.94 at most", () => {
    const days = [0, 1, 2, 3, 4, 0, 0].map((day, i) => hit(`question w${i}`, day));
    expect(scoreOf(signalsOf(days, "project", now), weights)).toBeCloseTo(0.94, 9);
    const once = signalsOf([hit("a", 90, 2)], "project", now);
    const byHand = 0.24 * (Math.log(2) / Math.log(7)) + 0.3 / 2 + 0.15 / 2 + 0.15 / 5 + 0.1 / 5;
    expect(scoreOf(once, weights)).toBeCloseTo(byHand, 9);
  });

  it("I31: two questions at the fifth place, three times, score 0.461 at once, and 0.386 after 90 days", () => {
    const three = (daysAgo: number) => ["tea", "coffee", "tea"].map((query) => hit(query, daysAgo, 5));
    const score = (daysAgo: number) => scoreOf(signalsOf(three(daysAgo), "project", now), weights);
    expect(score(0)).toBeCloseTo(0.461, 3);
    expect(score(90)).toBeCloseTo(0.386, 3);
  });
});

describe("the settings", () => {
  it("I32: are off unless somebody turns them on, with the numbers of the seed", () => {
    expect(dreamSettings(defaults, "main")).toEqual({
      enabled: false,
      intervalSecs: 86_400,
      atHour: 3,
      minScore: 0.35,
      minRecallCount: 3,
      minUniqueQueries: 2,
      maxPromotionsPerSweep: 20,
      weights: { frequency: 0.24, relevance: 0.3, recency: 0.15, diversity: 0.15, consolidation: 0.1 },
    });
  });

  it("I32: of an agent go over the gateway's, field by field", () => {
    const own = { enabled: true, weights: { recency: 0.5 } };
    const agents = { ...defaults.agents, list: [{ id: "ada", dreaming: own }] };
    const settings = dreamSettings({ ...defaults, agents }, "ada");
    expect(settings).toEqual({
      ...defaults.dreaming,
      enabled: true,
      weights: { ...weights, recency: 0.5 },
    });
  });

  it("I32: the next sweep is an interval after the last one, at the hour when it is a number of days", () => {
    const next = (last: string, change: object = {}, zone = "UTC") =>
      new Date(nextSweep(Date.parse(last), { ...defaults.dreaming, ...change }, zone))
        .toISOString()
        .slice(0, 16);
    expect(next("2026-04-24T03:00:20Z")).toBe("2026-04-25T03:00");
    expect(next("2026-04-24T10:00Z")).toBe("2026-04-25T03:00");
    expect(next("2026-04-24T16:00Z")).toBe("2026-04-26T03:00");
    expect(next("2026-04-24T01:00Z", {}, "Europe/Berlin")).toBe("2026-04-25T01:00");
    expect(next("2026-04-24T03:00Z", { intervalSecs: 604_800 })).toBe("2026-05-01T03:00");
    expect(next("2026-04-24T03:00Z", { intervalSecs: 3600 })).toBe("2026-04-24T04:00");
    // Over a change of clocks the hour stays, and no day is left out.
    expect(next("2026-03-28T02:00Z", {}, "Europe/Berlin")).toBe("2026-03-29T01:00");
    expect(dreamPlan(defaults.dreaming, "UTC")).toBe("86400 3 UTC");
  });
});
