import { describe, expect, it } from "vitest";
import { deliverableText } from "../../functions/agent/reply/heartbeat-answer.ts";

const long = `The mail server is down. ${"It was seen again. ".repeat(20)}`.trim();

describe("the answer to a heartbeat", () => {
  it.each([
    "HEARTBEAT_OK",
    " HEARTBEAT_OK.\n",
    "**HEARTBEAT_OK**",
    "HEARTBEAT_OK: nothing new, all three feeds were read.",
    "Nothing to report.\n\nHEARTBEAT_OK",
    `HEARTBEAT_OK ${"x".repeat(300)}`,
  ])("that says there is nothing to tell is not delivered: %j", (answer) => {
    expect(deliverableText(answer)).toBeUndefined();
  });

  it("is delivered without the token when the rest is longer than 300 characters", () => {
    expect(deliverableText(`HEARTBEAT_OK\n${long}`)).toBe(long);
    expect(deliverableText(`${long}\nHEARTBEAT_OK`)).toBe(long);
    expect(deliverableText(`HEARTBEAT_OK ${"x".repeat(301)}`)).toBe("x".repeat(301));
  });

  it.each([
    "ok",
    "Your train leaves at 9.",
    "I answer HEARTBEAT_OK when there is nothing, but now there is: the build fails.",
    "HEARTBEAT_OKAY is no token.",
    "NO_HEARTBEAT_OK",
  ])("is delivered as it is without the token at its beginning or end: %j", (answer) => {
    expect(deliverableText(answer)).toBe(answer);
  });
});
