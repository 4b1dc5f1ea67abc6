import { describe, expect, it } from "vitest";
import { inChunks } from "../../../functions/agent/compaction/message-chunks.ts";
import { cutByCount, cutBySize, cutPlaces } from "../../../functions/agent/context/context-fit.ts";
import { messageCharacters, totalCharacters } from "../../../functions/agent/context/context-size.ts";
import { type Message, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { seededRandom } from "../../support/random.ts";
import { assistant, randomTranscript, result, user } from "./transcripts.ts";

const talk = [
  user("list the files"),
  assistant("", "a", "b"),
  result("a", "one"),
  result("b", "two"),
  assistant("here they are"),
  user("thanks"),
];

/** A result after the cut whose call, the latest with its id, is before it. */
function isParted(messages: readonly Message[], cut: number): boolean {
  return messages.some((message, i) => {
    if (i < cut || message.role !== "toolResult") return false;
    const before = messages.slice(0, i);
    const call = before.findLastIndex((one) => toolCallsOf(one).some(({ id }) => id === message.toolCallId));
    return call >= 0 && call < cut;
  });
}

describe("where a conversation may be cut", () => {
  it("is anywhere except between a call and its results", () => {
    expect(cutPlaces(talk)).toEqual([true, true, false, false, true, true, true]);
  });

  it("is after a call that was never answered", () => {
    expect(cutPlaces([assistant("", "a"), user("never mind")])).toEqual([true, true, true]);
  });

  it("assigns a repeated call id to the latest call", () => {
    const again = [assistant("", "a"), result("a", "1"), assistant("", "a"), result("a", "2")];
    expect(cutPlaces(again)).toEqual([true, false, true, false, true]);
  });
});

describe("a cut by size", () => {
  it("keeps as much of the newest as fits", () => {
    const newest = totalCharacters(talk.slice(4));
    expect(cutBySize(talk, newest)).toBe(4);
    expect(cutBySize(talk, newest - 1)).toBe(5);
    expect(cutBySize(talk, totalCharacters(talk.slice(1)))).toBe(1);
  });

  it("never keeps only some of a call's results", () => {
    expect(cutBySize(talk, totalCharacters(talk.slice(2)))).toBe(4);
  });

  it("keeps the newest group, however large it is", () => {
    expect(cutBySize(talk.slice(0, 4), 1)).toBe(1);
    expect(cutBySize([user("x".repeat(1000))], 1)).toBe(0);
  });

  it("leaves a conversation that fits unchanged", () => {
    expect(cutBySize(talk, totalCharacters(talk))).toBe(0);
    expect(cutBySize([], 100)).toBe(0);
  });

  it("holds all of this for any conversation", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = seededRandom(seed);
      const messages = randomTranscript(random, random.integer(12), 3000);
      const keep = random.integer(6000);
      const cut = cutBySize(messages, keep);
      expect(isParted(messages, cut), `seed ${seed}`).toBe(false);
      const kept = messages.slice(cut);
      const places = cutPlaces(kept);
      const isOneGroup = places.slice(1, -1).every((place) => !place);
      expect(totalCharacters(kept) <= keep || isOneGroup, `seed ${seed}`).toBe(true);
      const more = cutPlaces(messages).findLastIndex((place, i) => place && i < cut);
      if (more >= 0) expect(totalCharacters(messages.slice(more)), `seed ${seed}`).toBeGreaterThan(keep);
    }
  });
});

describe("a cut by count", () => {
  it("keeps that many", () => {
    expect(cutByCount(talk, 2)).toBe(4);
    expect(cutByCount(talk, 1)).toBe(5);
    expect(cutByCount(talk, 99)).toBe(0);
  });

  it("keeps a few more if a call would lose its results", () => {
    expect(cutByCount(talk, 3)).toBe(1);
    expect(cutByCount(talk, 4)).toBe(1);
  });

  it("holds this for any conversation", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = seededRandom(seed);
      const messages = randomTranscript(random, 1 + random.integer(8), 100);
      const count = 1 + random.integer(messages.length);
      const cut = cutByCount(messages, count);
      expect(isParted(messages, cut), `seed ${seed}`).toBe(false);
      expect(messages.length - cut, `seed ${seed}`).toBeGreaterThanOrEqual(count);
      const places = cutPlaces(messages).slice(cut + 1, messages.length - count + 1);
      expect(
        places.every((place) => !place),
        `seed ${seed}`,
      ).toBe(true);
    }
  });
});

describe("chunks", () => {
  it("are no larger than requested, except for a single larger message", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seededRandom(seed);
      const messages = randomTranscript(random, random.integer(10), 4000);
      const most = 200 + random.integer(2000);
      const chunks = inChunks(messages, most);
      expect(chunks.flat(), `seed ${seed}`).toEqual(messages);
      for (const [i, chunk] of chunks.entries()) {
        expect(totalCharacters(chunk) <= most || chunk.length === 1, `seed ${seed}`).toBe(true);
        const next = chunks[i + 1]?.[0];
        if (next)
          expect(totalCharacters(chunk) + messageCharacters(next), `seed ${seed}`).toBeGreaterThan(most);
      }
    }
  });
});
