import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMemoryBucket } from "../support/memory-bucket.ts";
import { type State, startState } from "../support/state.ts";
import { measure } from "./measure.ts";
import { readOwnSet } from "./own-set.ts";
import { readQuestionSet, timeOf } from "./question-set.ts";

let state: State;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

describe("npm run bench:recall", () => {
  it("finds what was said: over 95 % of conversations and 92 % of turns of the project's own set, 57 % of them first", async () => {
    const figures = await measure(await readOwnSet(), { ...state, bucket: createMemoryBucket() });
    expect(figures.questions).toBeGreaterThan(100);
    expect(figures.any_at_5).toBeGreaterThanOrEqual(95);
    expect(figures.evidence_at_10).toBeGreaterThanOrEqual(92);
    expect(figures.first).toBeGreaterThanOrEqual(57);
  });

  it("searches the wordings of a question together", async () => {
    const lines = ["The boiler is in the cellar", "Olsen repairs it", "I ordered a violin"];
    const sessions = lines.map((text, i) => ({ id: `s${i}`, turns: [{ id: `${i}`, role: "user", text }] }));
    const asking = (queries?: string[]) => {
      const question = {
        text: "Where is the boiler?",
        ...(queries ? { queries } : {}),
        evidence: ["0", "2"],
      };
      return measure({ sessions, questions: [question] }, { ...state, bucket: createMemoryBucket() });
    };
    expect(await asking()).toMatchObject({ evidence_at_10: 50 });
    expect(await asking(["Where is the boiler?", "violin"])).toMatchObject({ evidence_at_10: 100 });
  });

  it("reads any file of the format, with speakers of other names and times as texts or numbers", () => {
    const set = readQuestionSet(
      JSON.stringify({
        sessions: [
          { id: "D1", at: "1:56 pm on 8 May, 2023", turns: [{ id: "D1:1", role: "Caroline", text: "Hi" }] },
        ],
        questions: [{ text: "Who said hi?", evidence: ["D1:1"], category: 1 }],
      }),
    );
    const [session] = set.sessions;
    expect(session && new Date(timeOf(session)).toISOString()).toBe("2023-05-08T00:00:00.000Z");
    expect(timeOf({ id: "a", at: 5, turns: [] })).toBe(5);
    expect(() => timeOf({ id: "a", at: "soon", turns: [] })).toThrow("the time of a is not one: soon");
  });

  it("says what is wrong with a file", () => {
    expect(() => readQuestionSet('{"sessions":[{"id":1}]}')).toThrow(/^sessions\.0\.id: /);
  });
});
