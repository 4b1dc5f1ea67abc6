import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createMediaCache } from "../../../functions/agent/model/media-cache.ts";
import { createCallModel } from "../../../functions/agent/model/model.ts";
import type { ModelCall } from "../../../functions/agent/model/model-call.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import { imageBytes } from "../../support/images.ts";
import { createMemoryBucket } from "../../support/memory-bucket.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { newPayment } from "../../support/payment.ts";
import { user } from "../compaction/transcripts.ts";

let server: ModelServer;
let reply: (index: number, hasImage: boolean) => Reply;
const streamed: string[] = [];
beforeAll(async () => {
  server = await startOpenAiServer(({ body }) => reply(server.requests.length, holdsImage(body)));
});
beforeEach(() => {
  server.requests.length = 0;
  streamed.length = 0;
});
afterAll(() => server?.close());

const holdsImage = (body: unknown) => JSON.stringify(body).includes("image_url");
const photo: Message = {
  role: "user",
  content: [
    { type: "image", mimeType: "image/png", r2Key: "media/a.png", size: 64 },
    { type: "text", text: "look" },
  ],
  timestamp: 1,
};

function ask(messages: Message[], changes: Partial<ModelCall> = {}) {
  const keys = { configuration: { load: async () => defaults }, secrets: { get: async () => undefined } };
  const bucket = createMemoryBucket({ "media/a.png": imageBytes().toString("latin1") });
  return createCallModel(keys, createMediaCache(bucket), async () => {})({
    payment: newPayment(),
    model: { provider: "openai-compatible", id: "m", baseUrl: server.url },
    systemPrompt: "",
    messages,
    tools: [],
    sessionId: "s",
    signal: new AbortController().signal,
    timeoutMs: 20_000,
    onText: (text) => streamed.push(text),
    ...changes,
  });
}

/** A server that refuses every request with an image, with this message. */
const refusing =
  (message: string, status = 400) =>
  (_index: number, hasImage: boolean): Reply =>
    hasImage ? { error: { status, message } } : { text: "I cannot see it." };

describe("a conversation with an image that the provider refuses", () => {
  it.each([
    "messages.0.content.1.image.source.base64.data: dimensions exceed max allowed size: 8000 pixels",
    "Could not process image",
    "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
    "unknown variant `image_url`, expected `text`",
    "m is not a multimodal model",
    "Payload too large",
  ])("continues without images, and the model sees a note: %s", async (message) => {
    reply = refusing(message);
    const outcome = await ask([photo, user("and now?")]);
    expect(outcome).toMatchObject({
      status: "answered",
      message: { content: [{ text: "I cannot see it." }] },
    });
    expect(server.requests.map(({ body }) => holdsImage(body))).toEqual([true, false]);
    expect(JSON.stringify(server.requests[1]!.body)).toContain(
      "[image left out, the provider refused it or another one: image/png]",
    );
  });

  it("ends with the first error if omitting images does not help", async () => {
    reply = (index) => ({ error: { status: 400, message: index === 1 ? "bad image" : "bad request" } });
    expect(await ask([photo])).toMatchObject({
      status: "failed",
      error: expect.stringContaining("bad image"),
    });
    expect(server.requests).toHaveLength(2);
  });

  it("is still detected as too long without its images", async () => {
    const tooLong = "This model's maximum context length is 8000 tokens.";
    reply = (index) => ({ error: { status: 400, message: index === 1 ? "bad image" : tooLong } });
    expect(await ask([photo])).toMatchObject({ status: "failed", overflow: true });
  });
});

describe("a model is called once", () => {
  it.each([
    ["where there is no image", [user("draw an image")], { error: { status: 400, message: "bad image" } }],
    ["for an error of another kind", [photo], { error: { status: 400, message: "unknown parameter" } }],
  ])("%s", async (_what, messages, answer) => {
    reply = () => answer;
    expect(await ask(messages)).toMatchObject({ status: "failed", overflow: false });
    expect(server.requests).toHaveLength(1);
  });

  it("with its images if it has sent text: a broken stream is not their fault", async () => {
    reply = () => ({ text: "It", streamError: { afterPieces: 1, message: "bad image" } });
    expect(await ask([photo])).toMatchObject({ status: "failed", overflow: false });
    expect(server.requests.every(({ body }) => holdsImage(body))).toBe(true);
  });

  it("if its time is up", async () => {
    reply = () => ({ hang: true });
    expect(await ask([photo], { timeoutMs: 200 })).toMatchObject({ status: "failed" });
    expect(server.requests).toHaveLength(1);
  });

  it("if it was stopped", async () => {
    reply = () => ({ hang: true });
    expect(await ask([photo], { signal: AbortSignal.timeout(200) })).toEqual({ status: "aborted" });
    expect(server.requests).toHaveLength(1);
  });
});
