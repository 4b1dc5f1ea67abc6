import { describe, expect, it } from "vitest";
import { dateTerms, dayInWords } from "../../shared/recall/date-words.ts";
import { termsOf } from "../../shared/recall/words.ts";

describe("the terms of a text", () => {
  it("are the same for the forms of an English word", () => {
    expect(termsOf("Running runners' runs")).toEqual(["run", "runner", "run"]);
  });

  it("leave out words that say nothing, and accents", () => {
    expect(termsOf("¿Cuándo recogió el café?")).toEqual(termsOf("recoge cafe"));
  });

  it("keep numbers, keys and names", () => {
    expect(termsOf("ERR_4412x at 10.0.4.17")).toEqual(["err", "4412x", "10", "0", "4", "17"]);
  });

  it.each([
    ["Chinese", "我住在杭州", ["我住", "住在", "在杭", "杭州"]],
    ["Japanese", "東京タワー", ["東京", "京タ", "タワ", "ワー"]],
    ["Korean", "서울에", ["서울", "울에"]],
    ["Thai", "กาแฟ", ["กา", "าแ", "แฟ"]],
    ["mixed", "iPhone手机15", ["iphon", "手机", "15"]],
    ["a single character of", "茶", ["茶"]],
  ])("are pairs of neighbouring characters in %s text", (_, text, terms) => {
    expect(termsOf(text)).toEqual(terms);
  });

  it("are the same however a character is written", () => {
    expect(termsOf("ｶﾞｿﾘﾝ ﬁle é")).toEqual(termsOf("ガソリン file e\u0301"));
  });
});

describe("days in words", () => {
  const eighth = Date.UTC(2025, 4, 8, 23, 30);

  it("are those of the timezone", () => {
    expect(termsOf(dayInWords(eighth, "UTC"))).toEqual(termsOf("Thursday 8 May 2025"));
    expect(termsOf(dayInWords(eighth, "Europe/Madrid"))).toEqual(termsOf("Friday 9 May 2025"));
  });

  it.each([
    ["¿Qué hice el jueves 8 de mayo?", "Thursday May"],
    ["am Donnerstag im Mai", "Thursday May"],
    ["2025年5月8日", "May 2025 8"],
    ["what happened in autumn?", ""],
  ])("are what %s asks for by its own names", (question, words) => {
    expect(dateTerms(question).sort()).toEqual(termsOf(words).sort());
  });
});
