import { gunzipSync } from "node:zlib";
import {
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Message } from "../../shared/protocol/messages.ts";
import { imageBytes } from "../support/images.ts";
import { isReading } from "../support/models/model-window.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../support/models/scripted-model.ts";
import { noonTimezone } from "../support/noon.ts";
import { type Peer, type Preview, unnumbered } from "../support/peer.ts";
import { type Stack, startStack } from "./stack.ts";

/** The bucket as any S3 client sees it, after a conversation of 40 messages, images, a compaction and a reset. */
let stack: Stack;
let model: ModelServer;
let client: Peer;
let s3: S3Client;
let sessionId: string;
/** All objects before the compaction, and after the reset. */
let before: Map<string, Stored>;
let after: Map<string, Stored>;
let live: Message[];

interface Stored {
  contentType: string | undefined;
  metadata: Record<string, string>;
  body: Buffer;
}

const Key = "skills/soup/SKILL.md";
const markdown = "text/markdown; charset=utf-8";
const skill = "---\ndescription: makes tea\n---\nBoil water.";
const [photo, scan] = [imageBytes("image/jpeg", 5_000), imageBytes("image/png", 4_000)];
const filename = "Überweisung 🧾.pdf";

/** The agent's replies: it finishes its first run, saves a skill, or looks at a picture. */
function talk(request: ModelRequest): Reply {
  if (isReading(request)) return { text: "<summary>They counted.</summary><memories>- counts</memories>" };
  const last = request.turns.at(-1)!;
  if (last.role === "tool") return { text: "done" };
  const calls: Record<string, Reply["toolCalls"]> = {
    commission: [{ name: "gsv__DeleteFile", arguments: { path: "BOOTSTRAP.md" } }],
    learn: [{ name: "gsv__WriteFile", arguments: { path: "skills/tea/SKILL.md", content: skill } }],
    look: [{ name: "laptop__Read", arguments: { path: "scan.png" } }],
  };
  const toolCalls = calls[last.text];
  return toolCalls ? { toolCalls } : { text: `answer to ${last.text}` };
}

async function everything(): Promise<Map<string, Stored>> {
  const Bucket = stack.cloud.bucket;
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
  const objects = Contents.map(async ({ Key = "" }): Promise<[string, Stored]> => {
    const { ContentType, Metadata = {} } = await s3.send(new HeadObjectCommand({ Bucket, Key }));
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
    const body = Buffer.from(await Body!.transformToByteArray());
    return [Key, { contentType: ContentType, metadata: Metadata, body }];
  });
  return new Map(await Promise.all(objects));
}

async function say(message: string, media?: object[]): Promise<void> {
  const { runId } = await client.call("chat.send", { sessionKey: "main", message, media });
  expect(await client.ended(String(runId))).toMatchObject({ state: "final" });
}

beforeAll(async () => {
  model = await startOpenAiServer(talk);
  stack = await startStack();
  s3 = new S3Client({});
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    userTimezone: noonTimezone(),
  });
  client = await stack.client();
  const image = { type: "image", mimeType: "image/png", data: scan.toString("base64") };
  const node = await stack.node("laptop", { Read: () => ({ content: [image] }) });
  const soup = { Bucket: stack.cloud.bucket, Key, Body: skill, ContentType: "text/markdown" };
  await s3.send(new PutObjectCommand(soup));
  const { written } = await client.call<{ written: string[] }>("agent.init", {});
  expect(written).toContain("BOOTSTRAP.md");
  await say("commission");
  await say("learn");
  for (let i = 1; i <= 20; i++) await say(`question ${i}`);
  await say("look");
  await say("and this?", [
    { type: "image", mimeType: "image/jpeg", data: photo.toString("base64"), filename: "photo.jpg" },
    { type: "document", mimeType: "application/pdf", data: "JVBERi0=", filename },
  ]);
  const shown = { sessionKey: "main", limit: 1000 };
  const preview = await client.call<Preview>("session.preview", shown);
  sessionId = preview.sessionId;
  live = unnumbered(preview.messages);
  before = await everything();
  await client.call("session.compact", { sessionKey: "main", keepMessages: 10 });
  await client.call("session.reset", { sessionKey: "main" });
  after = await everything();
  await node.close();
});
afterAll(async () => {
  s3?.destroy();
  await client?.close();
  expect(stack?.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
});

const keysOf = (objects: Map<string, Stored>, pattern: RegExp) =>
  [...objects.keys()].filter((key) => pattern.test(key));
const one = (objects: Map<string, Stored>, pattern: RegExp): Stored => {
  const keys = keysOf(objects, pattern);
  expect(keys, String(pattern)).toHaveLength(1);
  return objects.get(keys[0]!)!;
};
const linesOf = ({ body }: Stored): Message[] =>
  gunzipSync(body)
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Message);

const workspace = ["AGENTS", "HEARTBEAT", "IDENTITY", "MEMORY", "SOUL", "TOOLS", "USER"];
const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const day = "\\d{4}-\\d\\d-\\d\\d";

describe("storage-layout.md, Read/Write Summary", () => {
  /** The number of objects before the compaction, and after the reset. */
  type Row = [pattern: string, key: RegExp, before: number, after: number, lifecycle: string];
  const rows: Row[] = [
    ...workspace.map((name): Row => {
      return [`agents/{id}/${name}.md`, new RegExp(`^agents/main/${name}\\.md$`), 1, 1, "persistent"];
    }),
    ["agents/{id}/BOOTSTRAP.md", /^agents\/main\/BOOTSTRAP\.md$/, 0, 0, "deleted after commissioning"],
    [
      "agents/{id}/memory/{date}.md",
      new RegExp(`^agents/main/memory/${day}\\.md$`),
      0,
      1,
      "accumulates daily",
    ],
    [
      "agents/{id}/sessions/{sid}.jsonl.gz",
      new RegExp(`^agents/main/sessions/${uuid}\\.jsonl\\.gz$`),
      0,
      1,
      "one per reset",
    ],
    [
      "agents/{id}/sessions/{sid}-part{ts}.jsonl.gz",
      new RegExp(`^agents/main/sessions/${uuid}-part\\d{13}\\.jsonl\\.gz$`),
      0,
      1,
      "one per compaction",
    ],
    [
      "agents/{id}/recall/{year}-q{quarter}.{part}.json.gz",
      /^agents\/main\/recall\/\d{4}-q[1-4]\.1\.json\.gz$/,
      0,
      1,
      "one per quarter",
    ],
    ["agents/{id}/objects/{sha256}", /^agents\/main\/objects\/[0-9a-f]{64}$/, 3, 3, "one per system prompt"],
    [
      "agents/{id}/.git/objects/{sha1}",
      /^agents\/main\/\.git\/objects\/[0-9a-f]{2}\/[0-9a-f]{38}$/,
      0,
      14,
      "one per file, folder and commit",
    ],
    [
      "agents/{id}/.git/{name}",
      /^agents\/main\/\.git\/(HEAD|config|refs\/heads\/main|gsv-index\.json)$/,
      0,
      4,
      "from the first commit on",
    ],
    ["agents/{id}/skills/{name}/SKILL.md", /^agents\/main\/skills\/tea\/SKILL\.md$/, 1, 1, "persistent"],
    ["skills/{name}/SKILL.md", /^skills\/soup\/SKILL\.md$/, 1, 1, "persistent"],
    [
      "media/{sessionKey}/{uuid}.{ext}",
      new RegExp(`^media/agent:main:main/${uuid}\\.(jpg|png|pdf)$`),
      3,
      0,
      "deleted on session reset",
    ],
  ];

  it.each(rows)("%s (%s): %i before, %i after, %s", (_pattern, key, countBefore, countAfter) => {
    expect([keysOf(before, key).length, keysOf(after, key).length]).toEqual([countBefore, countAfter]);
  });

  it("there are no other objects", () => {
    for (const objects of [before, after])
      expect([...objects.keys()].filter((key) => !rows.some(([, pattern]) => pattern.test(key)))).toEqual([]);
  });
});

describe("every object, as any S3 client sees it", () => {
  const read = { origins: "machine%3Alaptop" };

  it("workspace files are Markdown; the metadata says whose words they contain", () => {
    for (const [key, { contentType, metadata }] of after) {
      if (!key.endsWith(".md") || key === Key) continue;
      // The day's notes are from a conversation that has read a machine's answer.
      const expected = key.includes("/memory/") ? read : {};
      expect([key, contentType, metadata]).toEqual([key, markdown, expected]);
    }
    expect(String(after.get("agents/main/skills/tea/SKILL.md")?.body)).toBe(skill);
  });

  it("daily memory has one section for each extraction", () => {
    const { body } = one(after, /memory/);
    const section = "### Extracted from context compaction \\(\\d\\d:\\d\\d\\)\\n\\n- counts\\n";
    // Two extractions of the same text in the same minute produce the same section.
    expect(String(body)).toMatch(new RegExp(`^${section}(\\n${section})?$`));
  });

  it("an archive is a gzip file with the metadata of the layout", () => {
    const { contentType, metadata } = one(after, /sessions\/[^/]{36}\.jsonl\.gz$/);
    expect(contentType).toBe("application/gzip");
    expect(metadata).toEqual({
      sessionkey: "agent%3Amain%3Amain",
      sessionid: sessionId,
      agentid: "main",
      ...read,
      messagecount: "11",
      archivedat: expect.stringMatching(/^\d{13}$/),
      inputtokens: expect.stringMatching(/^[1-9]\d*$/),
      outputtokens: expect.stringMatching(/^[1-9]\d*$/),
      totaltokens: String(Number(metadata.inputtokens) + Number(metadata.outputtokens)),
    });
  });

  it("a part is a gzip file with the metadata of the layout", () => {
    const [key = ""] = keysOf(after, /sessions\/.*-part/);
    const at = /-part(\d+)/.exec(key)?.[1];
    const { contentType, metadata } = one(after, /sessions\/.*-part/);
    expect(contentType).toBe("application/gzip");
    expect(metadata).toEqual({
      sessionkey: "agent%3Amain%3Amain",
      sessionid: sessionId,
      agentid: "main",
      ...read,
      partnumber: at,
      messagecount: String(live.length - 10),
      archivedat: at,
    });
  });

  it("media objects have their own MIME type and bytes, and the metadata of the layout", () => {
    const named = (name: string) => ({
      originalfilename: name,
      uploadedat: expect.stringMatching(/^\d{13}$/),
      sessionkey: "agent%3Amain%3Amain",
    });
    expect(one(before, /\.jpg$/)).toEqual({
      contentType: "image/jpeg",
      metadata: named("photo.jpg"),
      body: photo,
    });
    expect(one(before, /\.png$/)).toEqual({ contentType: "image/png", metadata: named(""), body: scan });
    const { contentType, metadata } = one(before, /\.pdf$/);
    expect([contentType, metadata]).toEqual(["application/pdf", named(encodeURIComponent(filename))]);
  });
});

describe("the archives together", () => {
  it("the archive holds all messages after the summary, as lines in the documented form", () => {
    const [part, whole] = [
      linesOf(one(after, /sessions\/.*-part/)),
      linesOf(one(after, /sessions\/[^/]{36}\.jsonl\.gz$/)),
    ];
    const [summary, ...kept] = whole;
    expect(summary).toEqual({
      role: "user",
      content: expect.stringMatching(/^\[Summary of the earlier conversation: \d+ messages, archived\]/),
      timestamp: expect.any(Number),
      // The calls that can be shown again; this field is an addition to that form.
      earlier: expect.any(Object),
    });
    expect([...part, ...kept]).toEqual(live);
    expect(live.length).toBeGreaterThan(40);
    const forms = {
      user: { role: "user", content: expect.anything(), timestamp: expect.any(Number) },
      assistant: { role: "assistant", content: expect.any(Array), timestamp: expect.any(Number) },
      toolResult: {
        role: "toolResult",
        toolCallId: expect.any(String),
        toolName: expect.any(String),
        content: expect.any(Array),
        isError: expect.any(Boolean),
        timestamp: expect.any(Number),
      },
    };
    for (const message of [...part, ...whole]) {
      expect(message).toMatchObject(forms[message.role]);
      if (typeof message.content === "string") continue;
      for (const { type } of message.content) expect(["text", "image", "toolCall"]).toContain(type);
    }
    expect(JSON.stringify(live)).not.toContain(scan.toString("base64").slice(0, 40));
  });
});
