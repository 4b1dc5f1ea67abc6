import { expect, it } from "vitest";
import { feedbackLines } from "../../functions/agent/reply/feedback-lines.ts";
import type { Feedback } from "../../shared/session/state.ts";

const of = (emoji?: Feedback["emoji"], isRemoved?: true, messageId = "1"): Feedback => ({
  ...{ messageId, text: "It is blue." },
  ...(emoji ? { emoji } : {}),
  ...(isRemoved ? { isRemoved } : {}),
});

it.each<[string, Feedback[], string]>([
  ["the newest", [of("👎"), of("👍")], "👍"],
  ["what remains", [of("👎"), of("👍"), of("👎", true)], "👍"],
  ["the older one, when the newer one is taken back", [of("👎"), of("👍"), of("👍", true)], "👎"],
  ["none, when it is taken back", [of("👍"), of("👍", true)], ""],
  ["none, when all are", [of("👎"), of("👍"), of()], ""],
  ["what is given again", [of("👍"), of("👍", true), of("👍")], "👍"],
])("of several verdicts on an answer the agent reads %s", (_which, feedback, expected) => {
  const lines = expected ? [`[the owner reacted ${expected} to your answer: It is blue.]`] : [];
  expect(feedbackLines(feedback)).toEqual(lines);
});

it("each answer has a line of its own", () => {
  expect(feedbackLines([of("👍"), of("👎", undefined, "2"), of("👎", true)])).toHaveLength(2);
});
