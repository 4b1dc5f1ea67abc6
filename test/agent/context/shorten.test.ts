import { describe, expect, it } from "vitest";
import { messageCharacters, totalCharacters } from "../../../functions/agent/context/context-size.ts";
import { shorten, shortenTexts } from "../../../functions/agent/context/shorten.ts";
import type { Message } from "../../../shared/protocol/messages.ts";

const user = (content: string): Message => ({ role: "user", content, timestamp: 1 });
const result = (text: string): Message => ({
  ...{ role: "toolResult", toolCallId: "c", toolName: "Read", isError: false, timestamp: 1 },
  content: [{ type: "text", text }],
});
const assistant = (content: (Message & { role: "assistant" })["content"]): Message => ({
  ...{ role: "assistant", content, timestamp: 1 },
});

describe("a shortened text", () => {
  it("has the maximum length, and keeps twice as much of its beginning as of its end", () => {
    const shown = shorten("a".repeat(500) + "z".repeat(500), 400);
    expect(shown).toHaveLength(400);
    expect(shown).toContain("600 characters left out");
    const [, head = "", tail = ""] = /^(a+)\n\[… 600 characters left out …\]\n(z+)$/.exec(shown) ?? [];
    expect(head.length).toBe(Math.ceil(((head.length + tail.length) * 2) / 3));
  });

  it("is unchanged up to the maximum", () => {
    expect(shorten("x".repeat(400), 400)).toBe("x".repeat(400));
  });
});

describe("messages that do not fit", () => {
  it("are unchanged when they just fit", () => {
    const messages = [user("x".repeat(1000)), result("y".repeat(1000))];
    expect(shortenTexts(messages, totalCharacters(messages))).toBe(messages);
  });

  it("lose the middle of the longest texts, down to one common length that fills the space", () => {
    const messages = [user("short"), user("x".repeat(9000)), result("y".repeat(5000)), assistant([])];
    const [short, ...long] = shortenTexts(messages, 6000);
    expect(short).toBe(messages[0]);
    const [one, other] = long.map(messageCharacters);
    expect(one).toBe(other);
    const total = totalCharacters([short as Message, ...long]);
    expect(total).toBeLessThanOrEqual(6000);
    expect(total).toBeGreaterThan(5800);
  });

  it("lose the model's own words only when shortening the others is not enough", () => {
    const own = assistant([{ type: "text", text: "z".repeat(3000), textSignature: "s" }]);
    const [, kept] = shortenTexts([user("x".repeat(9000)), own], 5000);
    expect(kept).toBe(own);
    const [, cut] = shortenTexts([user("x".repeat(9000)), own], 2000);
    expect(cut).toMatchObject({ content: [{ text: expect.stringContaining("characters left out") }] });
    expect(JSON.stringify(cut)).not.toContain("textSignature");
  });

  it("keep the shape of a call's arguments, and everything in them that is no long text", () => {
    const values = { path: "a.txt", lines: 3, none: null, isNew: true, list: ["x".repeat(4000), "b"] };
    const [cut] = shortenTexts(
      [assistant([{ type: "toolCall", id: "c", name: "Write", arguments: values }])],
      1000,
    );
    const { arguments: shown } = (cut as { content: { arguments: typeof values }[] }).content[0] ?? {};
    expect(shown).toEqual({ ...values, list: [expect.stringContaining("left out"), "b"] });
  });
});
