import { expect, it } from "vitest";
import { maxShownResult, shownMessages } from "../../../functions/agent/context/shorten.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import { assistant, result, user } from "../compaction/transcripts.ts";

it("a model sees both ends of a very long tool result, and the omitted length", () => {
  const text = `BEGIN${"x".repeat(5_000_000)}END`;
  const [shown] = shownMessages([result("a", text)]);
  const [block] = shown!.content as { text: string }[];
  expect(block?.text.length).toBeLessThanOrEqual(maxShownResult);
  expect(block?.text).toMatch(/^BEGINx+\n\[… \d+ characters left out …\]\nx+END$/);
});

it("several texts of one result share the limit, and its images stay", () => {
  const image = { type: "image", mimeType: "image/png", r2Key: "media/x/1.png", size: 1 } as const;
  const long = {
    ...result("a", ""),
    content: [
      { type: "text", text: "a".repeat(300_000) },
      image,
      { type: "text", text: "b".repeat(100_000) },
    ],
  } as Message;
  const [shown] = shownMessages([long]);
  const [first, second, third] = shown!.content as { text: string }[];
  expect(first?.text.length).toBe(150_000);
  expect(second).toEqual(image);
  expect(third?.text.length).toBe(50_000);
});

it("everything else is shown unchanged", () => {
  const messages = [
    user("u".repeat(300_000)),
    assistant("a".repeat(300_000), "a"),
    result("a", "r".repeat(maxShownResult)),
  ];
  expect(shownMessages(messages)).toEqual(messages);
});
