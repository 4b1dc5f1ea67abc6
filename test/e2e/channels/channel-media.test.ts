import { GetObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { imageBytes } from "../../support/images.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { type SpeechServer, startSpeechServer } from "../../support/models/speech-server.ts";
import {
  startTranscriptionServer,
  type TranscriptionServer,
} from "../../support/models/transcription-server.ts";
import type { SharedFile } from "../../support/platforms/platform-server.ts";
import {
  channelsOf,
  type Platform,
  platformNames,
  platformStarts,
} from "../../support/platforms/platforms.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

let stack: Stack;
let model: ModelServer;
let transcription: TranscriptionServer;
let speech: SpeechServer;
let platforms: Platform[];
let s3: S3Client;

beforeAll(async () => {
  model = await startOpenAiServer(() => ({ text: "I see." }));
  transcription = await startTranscriptionServer("Buy milk.");
  speech = await startSpeechServer();
  platforms = await Promise.all(Object.values(platformStarts).map((start) => start()));
  stack = await startStack();
  s3 = new S3Client({});
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "session.dmScope": "per-channel-peer",
    transcription: { baseUrl: `${transcription.url}/v1`, apiKey: transcription.apiKey, model: "whisper-1" },
    channels: channelsOf(platforms, { dmPolicy: "allowlist" }),
  });
  for (const { name, people } of platforms)
    await stack.configure({ [`channels.${name}.owners`]: [people.ann] });
});
afterEach(() => expect(stack.roles.refusals()).toEqual([]));
afterAll(async () => {
  s3?.destroy();
  await stack?.close();
  await model?.close();
  await transcription?.close();
  await speech?.close();
  for (const platform of platforms ?? []) await platform.close();
});

/** The objects under `media/`, newest last. */
async function stored(): Promise<string[]> {
  const { Contents = [] } = await s3.send(
    new ListObjectsV2Command({ Bucket: stack.cloud.bucket, Prefix: "media/" }),
  );
  return Contents.map(({ Key }) => String(Key));
}

/** The last user turn that the model saw. */
const asked = () => model.requests.at(-1)?.turns.findLast((turn) => turn.role === "user")?.text ?? "";

const plan: SharedFile = {
  name: "plan [v2].pdf",
  type: "application/pdf",
  bytes: Buffer.from("%PDF-1.7 plan"),
};
const voice: SharedFile = {
  name: "voice.ogg",
  type: "audio/ogg",
  bytes: Buffer.from("OggS voice"),
  voice: true,
};

let platform: Platform;
let before: string[];
const added = async () => (await stored()).filter((key) => !before.includes(key));
const deliver = async (event: object) => (await platform.deliver(stack.cloud.webhook, event)).status;

/** Delivers an event and waits for its answer. */
async function answered(event: object): Promise<void> {
  const answers = platform.answers().length;
  expect(await deliver(event)).toBe(200);
  await until(() => platform.answers().length > answers, "it is answered");
}

async function use(name: string): Promise<void> {
  platform = platforms.find((one) => one.name === name)!;
  before = await stored();
}

describe.each(platformNames)("a file received on %s", (name) => {
  beforeEach(() => use(name));

  it("is stored and shown to the model, when it is an image", async () => {
    const bytes = imageBytes("image/jpeg", 3000);
    await answered(platform.attach("what is this?", { name: "a.jpg", type: "image/jpeg", bytes }));
    const keys = await added();
    expect(keys).toHaveLength(1);
    expect(keys[0]).toMatch(new RegExp(`^media/agent:main:${name}:dm:[^/]+/[0-9a-f-]{36}\\.jpg$`));
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain(bytes.toString("base64"));
    expect(asked()).toMatch(
      /^\[\w+ · .*\]\nwhat is this\?\n\[image: .*image\/jpeg, 2\.9 KB, media\/.*\.jpg\]$/,
    );
    expect(asked()).toContain(keys[0]);
    const object = await s3.send(new GetObjectCommand({ Bucket: stack.cloud.bucket, Key: keys[0] }));
    expect(object.ContentType).toBe("image/jpeg");
    expect(object.Metadata).toMatchObject({ uploadedat: expect.stringMatching(/^\d{13}$/) });
    expect(Buffer.from((await object.Body?.transformToByteArray()) ?? [])).toEqual(bytes);
  });

  it("is named to the model with its key if it is a document, even without text", async () => {
    await answered(platform.attach("", plan));
    const [key] = await added();
    const note = `[document: plan _v2_.pdf, application/pdf, 13 bytes, ${key}]`;
    expect(asked().split("\n").slice(1)).toEqual([note]);
  });

  it("is transcribed if it is a voice note", async () => {
    await answered(platform.attach("", voice));
    const [key] = await added();
    expect(asked()).toMatch(
      new RegExp(`\\[voice note: .*audio/ogg, 10 bytes, .*${key}\\]\\nTranscription: Buy milk\\.$`),
    );
    expect(transcription.recordings.at(-1)).toMatchObject({
      name: "voice.ogg",
      bytes: 10,
      model: "whisper-1",
    });
  });

  it("is answered by a voice message, too, if it is a voice note and speech is on", async () => {
    const server = { baseUrl: `${speech.url}/v1`, apiKey: speech.apiKey };
    await stack.configure({ speech: { enabled: true, model: "tts-1", voice: "alloy", ...server } });
    const before = platform.received().length;
    await answered(platform.attach("", voice));
    await expect.poll(() => platform.received().length).toBe(before + 1);
    const sent = Buffer.from(await platform.received().at(-1)!.arrayBuffer());
    expect(sent).toEqual(speech.audio);
    expect(speech.requests.at(-1)?.input).toBe("I see.");
    await stack.configure({ "speech.enabled": false });
  });

  it("is replaced by a note if it cannot be fetched, and the message is answered", async () => {
    const event = platform.attach("look", { ...plan, type: "text/plain", name: "gone.txt" });
    platform.loseFiles();
    await answered(event);
    expect(asked()).toMatch(/\nlook\n\[document: .*text\/plain, could not be fetched: .+\]$/);
    expect(await added()).toEqual([]);
  });

  it("is not fetched if its sender is not allowed", async () => {
    const asks = platform.downloads();
    const requests = model.requests.length;
    expect(await deliver(platform.attach("look", plan, platform.people.bob))).toBe(200);
    await answered(platform.direct("hello"));
    expect(platform.downloads()).toBe(asks);
    expect(await added()).toEqual([]);
    expect(model.requests.length).toBe(requests + 1);
  });
});

// What happens after the fetch, and to a repeated event, is the same on every platform.
describe("a file", () => {
  beforeEach(() => use("telegram"));

  it("is described to the model as a voice note if it cannot be transcribed", async () => {
    transcription.fail("transcriptions", {
      status: 400,
      body: { error: { message: "The audio is silent" } },
    });
    await answered(platform.attach("", voice));
    expect(asked()).toMatch(/\[voice note: .*\]\n\[the transcription failed: 400 The audio is silent\]$/);
    expect(await added()).toHaveLength(1);
  });

  it("is fetched and stored once, however often its event is delivered", async () => {
    const event = platform.attach("again", plan);
    const asks = platform.downloads();
    await answered(event);
    const once = platform.downloads() - asks;
    for (const again of [event, event, event]) expect(await deliver(again)).toBe(200);
    await answered(platform.direct("hello"));
    expect(platform.downloads() - asks).toBe(once);
    expect(await added()).toHaveLength(1);
  });
});
