import { describe, expect, it } from "vitest";
import { showImages } from "../../../functions/agent/model/image-blocks.ts";
import { createMediaCache } from "../../../functions/agent/model/media-cache.ts";
import { maxShownImageBytes } from "../../../shared/media/media-content.ts";
import type { ImageBlock, Message, TextBlock } from "../../../shared/protocol/messages.ts";
import { createMemoryBucket } from "../../support/memory-bucket.ts";

const image = (n: number, size = 3): ImageBlock => ({
  type: "image",
  mimeType: "image/png",
  r2Key: `media/${n}.png`,
  size,
});
const user = (...content: (TextBlock | ImageBlock)[]): Message => ({ role: "user", content, timestamp: 1 });
const result = (...content: (TextBlock | ImageBlock)[]): Message => ({
  role: "toolResult",
  toolCallId: "c",
  toolName: "Read",
  content,
  isError: false,
  timestamp: 1,
});

/** A bucket with `count` images, and messages that refer to them. */
async function show(messages: Message[], count: number, missing: number[] = []) {
  const objects = Array.from({ length: count }, (_, n) => [`media/${n}.png`, `i${n}`] as const);
  const bucket = createMemoryBucket(Object.fromEntries(objects.filter((_, n) => !missing.includes(n))));
  const shown = await showImages(messages, createMediaCache(bucket));
  const blocks = shown.flatMap(({ content }) => content as (TextBlock | ImageBlock)[]);
  const shownBytes = blocks.flatMap((block) =>
    block.type === "image" ? [Buffer.from(block.data ?? "", "base64").toString()] : [],
  );
  return { shown, blocks, shownBytes, bucket };
}

describe("images for a model call", () => {
  it("replace their references in messages of users and tools as base64", async () => {
    const text = { type: "text", text: "look" } as const;
    const reply: Message = { role: "assistant", content: [text], timestamp: 1 };
    const plain: Message = { role: "user", content: "plain", timestamp: 1 };
    const { shown } = await show([plain, user(text, image(0)), reply, result(image(1), text)], 2);
    const data = (bytes: string) => Buffer.from(bytes).toString("base64");
    expect(shown).toEqual([
      plain,
      user(text, { type: "image", mimeType: "image/png", data: data("i0") }),
      reply,
      result({ type: "image", mimeType: "image/png", data: data("i1") }, text),
    ]);
  });

  it("leave the stored messages unchanged", async () => {
    const messages = [user(image(0))];
    const before = structuredClone(messages);
    await show(messages, 1);
    expect(messages).toEqual(before);
  });

  it("are read in parallel", async () => {
    const reading = { now: 0, most: 0 };
    const load = async () => {
      reading.most = Math.max(reading.most, ++reading.now);
      await new Promise((resolve) => setImmediate(resolve));
      reading.now--;
      return "eA==";
    };
    await showImages([user(...[0, 1, 2, 3].map((n) => image(n)))], { load });
    expect(reading.most).toBe(4);
  });

  it("are replaced by a note if the object is gone", async () => {
    const { blocks } = await show([user(image(0), image(1))], 2, [0]);
    expect(blocks).toMatchObject([
      { type: "text", text: "[image no longer available: image/png]" },
      { type: "image" },
    ]);
  });

  it("are the newest twenty at most; the oldest are omitted five at a time", async () => {
    for (const [count, dropped] of [
      [20, 0],
      [21, 5],
      [25, 5],
      [26, 10],
    ] as const) {
      const messages = Array.from({ length: count }, (_, n) => user(image(n)));
      const { blocks, shownBytes, bucket } = await show(messages, count);
      expect(shownBytes).toEqual(Array.from({ length: count - dropped }, (_, n) => `i${n + dropped}`));
      expect(bucket.downloads).toHaveLength(count - dropped);
      expect(blocks.slice(0, dropped)).toEqual(
        Array(dropped).fill({ type: "text", text: "[image left out, newer ones are shown: image/png]" }),
      );
    }
  });

  it("are at most 15 MB of base64, the newest first", async () => {
    const messages = [0, 1, 2, 3, 4, 5].map((n) => user(image(n, n === 1 ? 3 : maxShownImageBytes)));
    expect((await show(messages, 6)).shownBytes).toEqual(["i3", "i4", "i5"]);
  });
});
