import { afterAll, beforeAll, expect, it } from "vitest";
import { openS3Bucket } from "../../shared/aws/s3-bucket.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { findArchives, readArchive } from "../../shared/session/archive.ts";
import { isReading, type WindowedScript, withWindow } from "../support/models/model-window.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../support/models/scripted-model.ts";
import { type Peer, type Preview, unnumbered } from "../support/peer.ts";
import { type Stack, startStack } from "./stack.ts";

const contextWindow = 8000;
/** Enough for two compactions: the first after about twenty turns, the next ones a few turns apart. */
const turns = 42;

let stack: Stack;
let model: ModelServer;
let script: WindowedScript;
let client: Peer;
let readings = 0;

/** Each turn runs a command on the laptop, whose output is long, and answers. */
function talk(request: ModelRequest): Reply {
  if (isReading(request))
    return { text: `<summary>Summary ${++readings}.</summary><memories>- memory ${readings}</memories>` };
  const last = request.turns.at(-1)!;
  if (last.role === "tool") return { text: `answer to ${last.toolCallId}` };
  return {
    toolCalls: [{ id: `call_${last.text}`, name: "laptop__Bash", arguments: { command: last.text } }],
  };
}

beforeAll(async () => {
  script = withWindow(contextWindow, talk);
  model = await startOpenAiServer(script);
  stack = await startStack();
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url, contextWindow },
    "session.defaultResetPolicy": { mode: "manual" },
  });
  client = await stack.client();
});
afterAll(async () => {
  await client?.close();
  await stack?.close();
  await model?.close();
});

async function archivedParts(sessionId: string): Promise<Message[][]> {
  const bucket = openS3Bucket(String(stack.cloud.env.BUCKET_NAME));
  const { parts } = await findArchives(bucket, "main", sessionId);
  const read = parts.map(async (key) => {
    const messages: Message[] = [];
    for await (const message of readArchive(bucket, key)) messages.push(message);
    return messages;
  });
  return Promise.all(read);
}

const isSummary = ({ role, content }: Message) =>
  role === "user" &&
  typeof content === "string" &&
  content.startsWith("[Summary of the earlier conversation");

async function everything(): Promise<{
  sessionId: string;
  live: Message[];
  parts: Message[][];
  said: Message[];
}> {
  const preview = { sessionKey: "main", limit: 1000 };
  const { sessionId, messages } = await client.call<Preview>("session.preview", preview);
  const live = unnumbered(messages);
  const parts = await archivedParts(sessionId);
  return {
    sessionId,
    live,
    parts,
    said: [...parts.flat(), ...live].filter((message) => !isSummary(message)),
  };
}

it("keeps a long conversation with a node's tools within a small context window, with the deployed bundles", async () => {
  const node = await stack.node("laptop", { Bash: ({ command }) => `${command}\n${"output ".repeat(200)}` });
  for (let turn = 0; turn < turns; turn++) {
    const runId = `t${turn}`;
    await client.call("chat.send", { sessionKey: "main", message: runId, runId });
    const end = await client.ended(runId);
    expect(end.state).toBe("final");
  }
  expect(script.refused).toBe(0);
  expect(Math.max(...script.sizes)).toBeLessThanOrEqual(contextWindow);
  expect(model.requests.every(({ status }) => status === 200)).toBe(true);
  expect(new Set(model.requests.map(({ body }) => JSON.stringify(body))).size).toBe(model.requests.length);
  expect(node.calls).toHaveLength(turns);
  const { live, parts, said } = await everything();
  expect(parts.length).toBeGreaterThan(1);
  expect(isSummary(live[0]!)).toBe(true);
  expect(said.filter(({ role }) => role === "user").map(({ content }) => content)).toEqual(
    Array.from({ length: turns }, (_, turn) => `t${turn}`),
  );
  expect(said).toHaveLength(turns * 4);
  await node.close();
});

it("saves extracted memories in the daily file", async () => {
  const { files } = await client.call<{ files: string[] }>("workspace.list", { path: "memory" });
  const contents = await Promise.all(files.map((path) => client.call("workspace.read", { path })));
  const text = contents.map(({ content }) => content).join("\n");
  for (let i = 1; i <= readings; i++) expect(text).toContain(`- memory ${i}\n`);
});

it("compacts on request, by method and by command", async () => {
  const before = await everything();
  const method = await client.call("session.compact", { sessionKey: "main", keepMessages: 4 });
  expect(method).toMatchObject({
    ok: true,
    trimmedMessages: before.live.length - 4,
    keptMessages: 4,
    archivedTo: expect.stringMatching(/^agents\/main\/sessions\/[0-9a-f-]{36}-part\d+\.jsonl\.gz$/),
  });
  const command = await client.call("chat.send", { sessionKey: "main", message: "/compact 2", runId: "c1" });
  expect(command).toEqual({
    status: "command",
    command: "compact",
    response: "Compacted session. Kept 3 messages, archived 2.",
  });
  const wrong = await client.call("chat.send", { sessionKey: "main", message: "/compact all", runId: "c2" });
  expect(wrong).toMatchObject({ command: "compact", error: "Invalid count. Usage: /compact [N]" });
  const after = await everything();
  expect(after.said).toEqual(before.said);
  expect(after.live).toHaveLength(4);
  expect(stack.roles.refusals()).toEqual([]);
});
