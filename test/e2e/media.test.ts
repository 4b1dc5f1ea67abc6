import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  S3Client,
} from "@aws-sdk/client-s3";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { metaKey } from "../../shared/session/state.ts";
import { set } from "../../shared/world/expression.ts";
import { gsv } from "../cli/run-gsv.ts";
import { imageBytes } from "../support/images.ts";
import { startAnthropicServer } from "../support/models/anthropic-server.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import type { Peer } from "../support/peer.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

const providers = [
  { provider: "anthropic", id: "claude-opus-4-8", server: "anthropic" },
  { provider: "openai", id: "gpt-5.2", server: "openai" },
  { provider: "openai-compatible", id: "some-model", server: "openai" },
] as const;
const withoutEyes = { provider: "openai", id: "gpt-4", server: "openai" } as const;

let stack: Stack;
let models: Record<"anthropic" | "openai", ModelServer>;
let s3: S3Client;
/** The agent, the model and the client of the current group of tests. */
let agentId: string;
let model: ModelServer;
let client: Peer;

/** The id of the agent that uses this model. */
const agentOf = ({ provider, id }: { provider: string; id: string }) =>
  `${provider}-${id.replace(/\W/g, "-")}`;

beforeAll(async () => {
  models = { anthropic: await startAnthropicServer(), openai: await startOpenAiServer() };
  stack = await startStack();
  s3 = new S3Client({});
  const agents = [...providers, withoutEyes].map((one) => {
    const { provider, id, server } = one;
    return { id: agentOf(one), model: { provider, id, baseUrl: models[server].url } };
  });
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: models.openai.url },
    "agents.list": [{ id: "main", default: true }, ...agents],
    "apiKeys.anthropic": "sk-test",
    "apiKeys.openai": "sk-test",
  });
});
afterEach(() => expect(stack.roles.refusals()).toEqual([]));
afterAll(async () => {
  s3?.destroy();
  await stack?.close();
  for (const server of Object.values(models ?? {})) await server.close();
});

async function speakWith(agent: string, server: keyof typeof models): Promise<void> {
  agentId = agent;
  model = models[server];
  client = await stack.client();
}

const keyOf = (session: string) => `agent:${agentId}:${session}`;

/** Keys of a session's media, as any S3 client lists them. */
async function mediaKeys(session: string): Promise<string[]> {
  const Prefix = `media/${keyOf(session)}/`;
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: stack.cloud.bucket, Prefix }));
  return Contents.map(({ Key = "" }) => Key);
}

/** The table's items as text. */
async function tableText(): Promise<string> {
  const client = new DynamoDBClient({});
  const { Items = [], LastEvaluatedKey } = await client.send(
    new ScanCommand({ TableName: stack.cloud.table, ConsistentRead: true }),
  );
  expect(LastEvaluatedKey).toBeUndefined();
  client.destroy();
  return JSON.stringify(Items);
}

const lastBody = () => JSON.stringify(model.requests.at(-1)?.body);

/** A node whose Read returns this image, as `gsv node` does. */
const imageNode = (image: Buffer, type = "image/png") =>
  stack.node("laptop", {
    Read: ({ path }) => ({
      content: [
        { type: "text", text: `image file ${path}` },
        { type: "image", mimeType: type, data: image.toString("base64") },
      ],
    }),
  });

const callRead = { toolCalls: [{ id: "call_1", name: "laptop__Read", arguments: { path: "a.png" } }] };

/** Waits until the agent has released a session, then replaces its process, so that the next turn starts cold. */
async function restartAgent(session: string): Promise<void> {
  const owner = async () => (await stack.table.get(metaKey(keyOf(session))))?.owner;
  await expect.poll(owner).toBeUndefined();
  stack.host.renew("agent");
}

async function send(session: string, message: string, runId: string, more: object = {}) {
  await client.call("chat.send", { sessionKey: keyOf(session), message, runId, ...more });
  return client.ended(runId);
}

describe.each(providers)("an image that a node's tool returns, with $provider", (one) => {
  beforeAll(() => speakWith(agentOf(one), one.server));
  afterAll(() => client?.close());

  it("is stored in the bucket, not in the table, and sent to the model in every later call", async () => {
    const image = imageBytes("image/png", 20_000);
    const data = image.toString("base64");
    const node = await imageNode(image);
    model.queue(callRead, { text: "A cat." }, { text: "Still a cat." });
    const before = Date.now();
    expect(await send("picture", "what is in a.png?", "picture")).toMatchObject({ state: "final" });
    expect(lastBody()).toContain(data);

    const keys = await mediaKeys("picture");
    expect(keys).toHaveLength(1);
    expect(keys[0]).toMatch(/\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.png$/);
    const head = await s3.send(new HeadObjectCommand({ Bucket: stack.cloud.bucket, Key: keys[0] }));
    expect(head).toMatchObject({ ContentType: "image/png", ContentLength: 20_000 });
    expect(head.Metadata).toMatchObject({ sessionkey: encodeURIComponent(keyOf("picture")) });
    expect(Number(head.Metadata?.uploadedat)).toBeGreaterThanOrEqual(before);

    const table = await tableText();
    expect(table).not.toContain(data.slice(0, 50));
    expect(table).toContain(String(keys[0]));
    const event = client.events.find((one) => one.event === "tool.result")?.payload;
    const preview = `image file a.png\n[image/png]\n[image: image/png, 19.5 KB, ${keys[0]}]`;
    expect(event).toMatchObject({ preview });
    const { messages } = await client.call<{ messages: { content: unknown[] }[] }>("session.preview", {
      sessionKey: keyOf("picture"),
    });
    const reference = { type: "image", mimeType: "image/png", r2Key: keys[0], size: 20_000 };
    expect(messages[2]?.content[1]).toEqual(reference);

    await restartAgent("picture");
    await send("picture", "are you sure?", "sure");
    expect(lastBody()).toContain(data);
    await node.close();
  });

  it("becomes a note once its object is gone", async () => {
    const image = imageBytes("image/jpeg");
    const node = await imageNode(image, "image/jpeg");
    model.queue(callRead, { text: "A dog." }, { text: "I cannot see it any more." });
    await send("gone", "what is in a.png?", "gone-1");
    const [Key = ""] = await mediaKeys("gone");
    await s3.send(new DeleteObjectCommand({ Bucket: stack.cloud.bucket, Key }));
    await restartAgent("gone");
    expect(await send("gone", "and now?", "gone-2")).toMatchObject({ state: "final" });
    expect(lastBody()).toContain("[image no longer available: image/jpeg]");
    expect(lastBody()).not.toContain(image.toString("base64"));
    await node.close();
  });
});

describe("media in a session", () => {
  beforeAll(() => speakWith("main", "openai"));
  afterAll(() => client?.close());

  it("is stored once although the agent crashed afterwards", async () => {
    const image = imageBytes();
    const node = await imageNode(image);
    model.queue(callRead, { text: "A b", hang: true }, { text: "A bird." });
    const asked = model.requests.length;
    await client.call("chat.send", { sessionKey: "crash", message: "look", runId: "crash" });
    await until(() => model.requests.length > asked + 1 && model.active() === 1, "the model sees the image");
    const [key] = await mediaKeys("crash");
    stack.host.kill("agent");
    await until(() => stack.host.instances("agent") === 0, "no agent runs");
    // Do not wait for the dead agent's lease, which lasts half a minute.
    await stack.table.update(metaKey("agent:main:crash"), [set("leaseUntil", 1)]);
    await stack.cloud.fire("agent", { sessionKey: "agent:main:crash" });
    expect(await client.ended("crash")).toMatchObject({ state: "final" });
    expect(await mediaKeys("crash")).toEqual([key]);
    expect(lastBody()).toContain(image.toString("base64"));
    await node.close();
  });

  it("is stored once although the node repeats its answer", async () => {
    const data = imageBytes().toString("base64");
    const result = { content: [{ type: "image", mimeType: "image/png", data }] };
    let callId = "";
    const node = await stack.node("laptop", {
      Read: (_args, id) => {
        callId = id;
        return undefined;
      },
    });
    model.queue(callRead, { text: "A fish." });
    await client.call("chat.send", { sessionKey: "repeat", message: "look", runId: "repeat" });
    await until(() => callId !== "", "the node has the call");
    const answers = [1, 2, 3].map(() => node.call("tool.result", { callId, result }));
    expect((await Promise.all(answers)).filter((answer) => !answer.dropped)).toHaveLength(1);
    await client.ended("repeat");
    const other = {
      content: [{ type: "image", mimeType: "image/png", data: imageBytes().toString("base64") }],
    };
    expect(await node.call("tool.result", { callId, result: other })).toEqual({ ok: true, dropped: true });
    expect(await mediaKeys("repeat")).toHaveLength(1);
    await node.close();
  });

  it("goes through the bucket if it exceeds a frame", async () => {
    const image = imageBytes("image/jpeg", 2_000_000);
    const content = [{ type: "image", mimeType: "image/jpeg", data: image.toString("base64") }];
    let callId = "";
    const node = await stack.node("laptop", {
      Read: (_args, id) => {
        callId = id;
        return undefined;
      },
    });
    model.queue(callRead, { text: "A whale." });
    await client.call("chat.send", { sessionKey: "large", message: "look", runId: "large" });
    await until(() => callId !== "", "the node has the call");
    const body = JSON.stringify({ callId, result: { content } });
    const upload = await node.call("payload.upload", { bytes: body.length });
    expect((await fetch(String(upload.url), { method: "PUT", body })).status).toBe(200);
    node.send({ type: "req", id: "by-reference", method: "tool.result", paramsRef: upload.ref });
    expect((await node.response("by-reference")).payload).toEqual({ ok: true });
    expect(await client.ended("large")).toMatchObject({ state: "final" });
    expect(lastBody()).toContain(image.toString("base64"));
    expect(await mediaKeys("large")).toHaveLength(1);
    expect(await tableText()).not.toContain(image.toString("base64", 0, 60));
    await node.close();
  });

  it("is replaced by a note if a node's image is invalid", async () => {
    const node = await stack.node("laptop", {
      Read: () => ({
        content: [
          { type: "image", mimeType: "image/png", data: "this is no base64" },
          { type: "image", mimeType: "image/png", r2Key: "media/agent:main:picture/x.png", size: 3 },
        ],
      }),
    });
    model.queue(callRead, { text: "I cannot see it." });
    await send("invalid", "look", "invalid");
    const [note] = model.requests.at(-1)?.turns.filter((turn) => turn.role === "tool") ?? [];
    expect(note?.text).toBe("[image omitted: data: not base64]\n[image omitted: data: missing]");
    expect(await mediaKeys("invalid")).toEqual([]);
    await node.close();
  });

  it("is accepted from a client's message: the model sees the image and the name of the document", async () => {
    const image = imageBytes("image/webp");
    const pdf = Buffer.from("%PDF-1.7");
    const filename = "Überweisung 🧾.pdf";
    const media = [
      { type: "image", mimeType: "image/webp", data: image.toString("base64") },
      { type: "document", mimeType: "application/pdf", data: pdf.toString("base64"), filename },
    ];
    model.queue({ text: "Paid." });
    await send("attached", "/think:low is this paid?", "attached", { media });
    expect(lastBody()).toContain(`data:image/webp;base64,${image.toString("base64")}`);
    const asked = model.requests.at(-1)?.turns.findLast((turn) => turn.role === "user")?.text;
    const stored = await mediaKeys("attached");
    const keyOf = (extension: string) => stored.find((key) => key.endsWith(extension));
    expect(asked).toBe(
      `is this paid?\n[image: image/webp, 64 bytes, ${keyOf("webp")}]\n[document: ${filename}, application/pdf, 8 bytes, ${keyOf("pdf")}]`,
    );
    expect(await tableText()).not.toContain(image.toString("base64"));

    // Repeat the request, as a client that lost its connection does.
    await client.call("chat.send", {
      sessionKey: "attached",
      message: "is this paid?",
      runId: "attached",
      media,
    });
    const keys = await mediaKeys("attached");
    expect(keys.map((key) => key.split(".").at(-1)).sort()).toEqual(["pdf", "webp"]);
    const { Metadata, ContentType } = await s3.send(
      new HeadObjectCommand({ Bucket: stack.cloud.bucket, Key: keys.find((key) => key.endsWith("pdf")) }),
    );
    expect(ContentType).toBe("application/pdf");
    expect(decodeURIComponent(String(Metadata?.originalfilename))).toBe(filename);
  });

  it("is sent to the model although the message contains only a directive besides it", async () => {
    const image = imageBytes();
    const media = [{ type: "image", mimeType: "image/png", data: image.toString("base64") }];
    model.queue({ text: "A square." });
    expect(await send("directive", "/think:low", "directive", { media })).toMatchObject({ state: "final" });
    expect(lastBody()).toContain(image.toString("base64"));
  });

  it("is accepted from the command line, through the bucket if it is large", async () => {
    const folder = newFolder();
    const env = { GSV_URL: stack.cloud.ws, GSV_TOKEN: stack.token };
    const chat = (name: string) =>
      gsv(["client", "--session", "cli", "--image", name, "what is this?"], { cwd: folder, env });
    const shown = imageBytes("image/jpeg", 3_000_000);
    await writeFile(join(folder, "photo.jpg"), shown);
    model.queue({ text: "A whale.", usage: { input: 900, output: 3 } });
    expect(await chat("photo.jpg")).toMatchObject({ code: 0, stdout: "A whale.\n", stderr: "" });
    expect(lastBody()).toContain(shown.toString("base64"));

    const most = imageBytes("image/png", 25 * 1024 * 1024);
    await writeFile(join(folder, "scan.png"), most);
    model.queue({ text: "I know about it." });
    const { code, stderr } = await chat("scan.png");
    expect([code, stderr]).toEqual([0, expect.stringContaining("the model cannot see it")]);
    const told = model.requests.at(-1)?.turns.findLast((turn) => turn.role === "user")?.text;
    expect(told).toContain("[image: scan.png, image/png, 25.0 MB, too large to be shown");
    const keys = await mediaKeys("cli");
    expect(keys.map((key) => key.split(".").at(-1)).sort()).toEqual(["jpg", "png"]);
    const Key = keys.find((key) => key.endsWith("png"));
    const stored = await s3.send(new GetObjectCommand({ Bucket: stack.cloud.bucket, Key }));
    expect(Buffer.from(await stored.Body!.transformToByteArray()).equals(most)).toBe(true);
    const left = new ListObjectsV2Command({ Bucket: stack.cloud.bucket, Prefix: "payloads/" });
    expect((await s3.send(left)).KeyCount).toBe(0);
    const upload = await client.request("payload.upload", { bytes: most.length + 1, kind: "media" });
    expect(upload.error).toMatchObject({ code: 413, message: expect.stringContaining("26214400") });
  });

  it.each([
    ["has neither bytes nor a ref", { type: "image", mimeType: "image/png" }, /^media\.0: .*data or dataRef/],
    ["refers to nothing", { type: "image", mimeType: "image/png", dataRef: "x" }, /^dataRef: not a ref/],
    ["is not base64", { type: "image", mimeType: "image/png", data: "no!" }, /^data: not base64/],
    ["is empty", { type: "image", mimeType: "image/png", data: "" }, /^data: /],
    [
      "has a MIME type of another kind",
      { type: "audio", mimeType: "image/png", data: "AAAA" },
      /^mimeType: /,
    ],
    ["has no MIME type", { type: "image", mimeType: "png", data: "AAAA" }, /^mimeType: /],
    [
      "is of a kind that there is not",
      { type: "file", mimeType: "image/png", data: "AAAA" },
      /^media\.0\.type: /,
    ],
  ])("is refused with 400 when it %s", async (_what, attachment, message) => {
    const answer = await client.request("chat.send", {
      sessionKey: "refused",
      message: "look",
      media: [attachment],
    });
    expect(answer.error).toMatchObject({ code: 400, message: expect.stringMatching(message) });
    expect(await mediaKeys("refused")).toEqual([]);
    expect((await client.call("session.stats", { sessionKey: "refused" })).messageCount).toBe(0);
  });
});

describe("an image for a model without vision", () => {
  beforeAll(() => speakWith(agentOf(withoutEyes), withoutEyes.server));
  afterAll(() => client?.close());

  it("is replaced by a note, and stays available for a model with vision", async () => {
    const image = imageBytes();
    const node = await imageNode(image);
    model.queue(callRead, { text: "I cannot see." });
    expect(await send("blind", "look", "blind")).toMatchObject({ state: "final" });
    expect(lastBody()).toContain("image omitted: model does not support images");
    expect(await mediaKeys("blind")).toHaveLength(1);
    await node.close();
  });
});
