import { describe, expect, it } from "vitest";
import { fuseRanks } from "../../shared/recall/fusion.ts";
import { rankTurns } from "../../shared/recall/ranking.ts";
import { createTurnIndex } from "../../shared/recall/turn-index.ts";

const day = 24 * 60 * 60_000;
const start = Date.parse("2026-03-02T12:00:00Z");

/** An index of one conversation, a day for each message. */
function indexOf(sessionId: string, texts: string[], { from = 1, at = start } = {}) {
  const index = createTurnIndex("UTC");
  const turns = texts.map((text, i) => ({ n: from + i, ts: at + i * day, role: "user" as const, text }));
  index.add({ sessionId, sessionKey: `agent:a:${sessionId}`, origins: [] }, turns);
  return index;
}

/** Messages between which no window reaches. */
const apart = (...texts: string[]) => texts.flatMap((text) => [text, ...Array(8).fill("mm hm")]);
const found = (indexes: ReturnType<typeof indexOf>[], question: string, limit = 10) =>
  rankTurns(indexes, question, limit).map(({ turn }) => turn.text);

describe("fused orders", () => {
  it("begin with what is in both, and keep the first occurrence where scores are equal", () => {
    expect(
      fuseRanks(
        [
          ["a", "b"],
          ["c", "b"],
        ],
        (one) => one,
      ),
    ).toEqual(["b", "a", "c"]);
    expect(
      fuseRanks(
        [
          ["a", "b", "c"],
          ["b", "a", "c"],
        ],
        (one) => one,
      ),
    ).toEqual(["a", "b", "c"]);
  });

  it("weigh places, and know things by their key", () => {
    const of = (key: string, text: string) => ({ key, text });
    const orders = [
      [of("x", "1"), of("y", "1")],
      [of("z", "2"), of("v", "2"), of("y", "2")],
    ];
    expect(fuseRanks(orders, ({ key }) => key)).toEqual([
      of("y", "1"),
      of("x", "1"),
      of("z", "2"),
      of("v", "2"),
    ]);
    expect(fuseRanks([], (one) => one)).toEqual([]);
  });
});

describe("ranked messages", () => {
  it("are those with a word of the question, the one with the rarer word first", () => {
    const index = indexOf(
      "s",
      apart("a boat and a lantern", "a boat", "another boat", "a boat and a zeppelin"),
    );
    expect(found([index], "boat zeppelin", 1)).toEqual(["a boat and a zeppelin"]);
    expect(found([index], "submarine")).toEqual([]);
  });

  it("have the message first whose own words match, then its neighbours", () => {
    const index = indexOf("s", ["mm", "what is the code", "violet 12", "thanks", "mm", "hello"]);
    expect(found([index], "violet")[0]).toBe("violet 12");
    expect(found([index], "violet")).toContain("thanks");
    expect(found([index], "violet")).not.toContain("hello");
  });

  it("prefer a short message, and a word that is repeated", () => {
    const long = `violet ${"and so many other words ".repeat(10)}`;
    expect(found([indexOf("s", apart(long, "violet"))], "violet", 1)).toEqual(["violet"]);
    const twice = apart("violet or green or blue", "violet violet or blue");
    expect(found([indexOf("s", twice)], "violet", 1)).toEqual(["violet violet or blue"]);
  });

  it("are the newest first where they are equal, and each once though two indexes have it", () => {
    const index = indexOf("s", ["mm hm", "mm hm", ...apart("violet", "violet")]);
    const times = rankTurns([index], "violet", 2).map(({ turn }) => turn.ts);
    expect(times).toEqual([start + 11 * day, start + 2 * day]);
    const again = indexOf("s", ["violet"], { from: 3 });
    expect(rankTurns([index, again], "violet", 10).filter(({ turn }) => turn.text === "violet")).toHaveLength(
      2,
    );
    const other = indexOf("t", ["violet"]);
    expect(rankTurns([index, other], "violet", 10).filter(({ turn }) => turn.text === "violet")).toHaveLength(
      3,
    );
  });

  it("are at most as many as wanted, over all indexes, and only the wanted ones", () => {
    const indexes = [indexOf("s", apart("violet", "violet")), indexOf("t", apart("violet", "violet"))];
    expect(rankTurns(indexes, "violet", 3)).toHaveLength(3);
    const wanted = rankTurns(indexes, "violet", 10, ({ conversation }) => conversation.sessionId === "t");
    expect(new Set(wanted.map(({ turn }) => turn.conversation.sessionId))).toEqual(new Set(["t"]));
  });

  it("share the weight of the question's words that they and their neighbours have", () => {
    const index = indexOf("s", apart("violet harbor", "violet", "green"));
    const shares = rankTurns([index], "violet harbor", 10).map(({ share }) => share);
    expect(Math.max(...shares)).toBeCloseTo(1);
    expect(Math.min(...shares)).toBeGreaterThan(0);
    expect(Math.min(...shares)).toBeLessThan(0.5);
  });

  it("are found by their day in the timezone of the index", () => {
    const index = indexOf("s", ["the boiler was repaired", "the roof was painted"]);
    expect(found([index], "what happened on Tuesday 3 March 2026?", 1)).toEqual(["the roof was painted"]);
  });

  it("of a conversation with more about the question come before an equal one of another", () => {
    const much = indexOf("much", ["violet", ...Array(6).fill("mm hm"), "violet"]);
    const little = indexOf("little", ["violet", ...Array(6).fill("mm hm"), "green"], {
      at: start + 90 * day,
    });
    const order = rankTurns([little, much], "violet", 20).filter(({ turn }) => turn.text === "violet");
    expect(order.map(({ turn }) => turn.conversation.sessionId)).toEqual(["much", "much", "little"]);
  });
});

describe("an index", () => {
  it("has each message of a conversation once, by its number", () => {
    const index = indexOf("s", ["one", "two"]);
    index.add({ sessionId: "s", sessionKey: "k", origins: [] }, [
      { n: 2, ts: start, role: "user", text: "again" },
      { n: 3, ts: start, role: "user", text: "three" },
    ]);
    expect(index.turns.map(({ text }) => text)).toEqual(["one", "two", "three"]);
    expect([index.has("s", 3), index.has("s", 4), index.has("t", 1)]).toEqual([true, false, false]);
  });

  it("counts a word of a message up to a limit, however often it is said", () => {
    const index = indexOf("s", ["mm", "violet ".repeat(5_000)]);
    expect(index.postings("violet")).toHaveLength(1);
    expect(index.postings("nothing")).toEqual([]);
    expect(found([index], "violet", 1)).toEqual(["violet ".repeat(5_000)]);
  });
});
