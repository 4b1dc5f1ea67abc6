import { createHash } from "node:crypto";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Connection } from "../../cli/gateway/connection.ts";
import { stackFunctions } from "../../local/lambda/host.ts";
import { cancelCapability } from "../../shared/protocol/frames.ts";
import { openProgram } from "../mcp-server/programs.ts";
import { imageBytes } from "../support/images.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { Peer } from "../support/peer.ts";
import { startTelegramServer } from "../support/platforms/telegram/telegram-server.ts";
import { photoUpdate, textUpdate } from "../support/platforms/telegram/telegram-updates.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

/** Granted permissions that are used only after failures that do not happen here. */
const unreached = [
  // A short index is scanned in one call.
  "socket: dynamodb:Query on arn:aws:dynamodb:us-east-1:000000000000:table/gsv-local/index/due",
  "socket: s3:AbortMultipartUpload on arn:aws:s3:::gsv-storage/agents/*",
  "timer: dynamodb:Query on arn:aws:dynamodb:us-east-1:000000000000:table/gsv-local/index/due",
  "agent: s3:AbortMultipartUpload on arn:aws:s3:::gsv-storage/agents/*",
  "agent: s3:DeleteObject on arn:aws:s3:::gsv-storage/payloads/*",
  // A token of an MCP server has not expired.
  "agent: ssm:PutParameter on arn:aws:ssm:us-east-1:000000000000:parameter/gsv/local/secrets/mcp/*",
  // Records a fault.
  "openai: dynamodb:UpdateItem on arn:aws:dynamodb:us-east-1:000000000000:table/gsv-local",
];

let stack: Stack;
let model: ModelServer;
let client: Peer;
beforeAll(async () => {
  model = await startOpenAiServer();
  // Leaves little time after the longest model call, so the agent hands a session over to a new invocation.
  const functions = { ...stackFunctions, agent: { timeoutMs: 871_000, memoryMb: 512 } };
  stack = await startStack({ acceleration: 60 }, functions);
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    // Two seconds: the clock runs sixty times faster.
    "timeouts.toolMs": 120_000,
    "timeouts.llmMs": 840_000,
  });
  client = await stack.client();
});
afterAll(async () => {
  await stack?.close();
  await model?.close();
});

async function ask(sessionKey: string, message: string) {
  const { runId } = await client.call("chat.send", { sessionKey, message });
  return client.ended(String(runId));
}

const call = (name: string, args: object) => ({ name, arguments: args as Record<string, unknown> });

/** A program registers, is approved, and lists its tools with the token that it gets. */
async function letProgramIn(): Promise<void> {
  const { origin } = new URL(stack.cloud.mcp);
  const redirect_uri = "http://127.0.0.1:7777/";
  const post = async (path: string, body: string | URLSearchParams) =>
    (await (await fetch(`${origin}/oauth/${path}`, { method: "POST", body })).json()) as Record<
      string,
      string
    >;
  const { client_id = "" } = await post("register", JSON.stringify({ redirect_uris: [redirect_uri] }));
  const verifier = "v".repeat(43);
  const code_challenge = createHash("sha256").update(verifier).digest("base64url");
  const asked = {
    client_id,
    redirect_uri,
    code_challenge,
    code_challenge_method: "S256",
    response_type: "code",
  };
  const page = await (await fetch(`${origin}/oauth/authorize?${new URLSearchParams(asked)}`)).text();
  await client.call("program.approve", { code: /approve ([\w-]+)/.exec(page)?.[1] });
  const next = /url=([^"]+)"/.exec(page)?.[1]?.replaceAll("&#38;", "&") ?? "";
  const { headers } = await fetch(`${origin}${next}`, { redirect: "manual" });
  const code = new URL(headers.get("location") ?? "").searchParams.get("code") ?? "";
  const given = { grant_type: "authorization_code", client_id, redirect_uri, code, code_verifier: verifier };
  const { access_token = "" } = await post("token", new URLSearchParams(given));
  const program = await openProgram(stack.cloud.mcp, access_token);
  expect((await program.listTools()).tools).toHaveLength(4);
  await program.close();
}

async function useFilesAndSkills(): Promise<void> {
  const skill = "---\nname: greet\ndescription: how to greet\n---\nSay hello.\n";
  const s3 = new S3Client({});
  await s3.send(
    new PutObjectCommand({ Bucket: stack.cloud.bucket, Key: "skills/greet/SKILL.md", Body: skill }),
  );
  s3.destroy();
  await client.call("workspace.read", { path: "skills/greet/SKILL.md" });
  await client.call("workspace.write", { path: "a.md", content: "a" });
  await client.call("workspace.delete", { path: "a.md" });
  await client.call("session.search", { query: "files" });
  model.queue(
    {
      toolCalls: [
        call("gsv__WriteFile", { path: "b.md", content: "one" }),
        call("gsv__EditFile", { path: "b.md", oldString: "one", newString: "two" }),
        call("gsv__ReadFile", { path: "skills/greet/SKILL.md" }),
        call("gsv__DeleteFile", { path: "b.md" }),
        call("gsv__ConfigGet", {}),
        call("gsv__SessionsList", {}),
        call("gsv__session_logs", { action: "search", query: "files" }),
        call("gsv__who_am_i", {}),
        call("gsv__my_stats", {}),
      ],
    },
    { text: "done", delayMs: 1500 },
  );
  expect(await ask("main", "use your files")).toMatchObject({ state: "final" });
}

async function useNodes(): Promise<void> {
  const image = {
    type: "image",
    mimeType: "image/png",
    data: Buffer.from(imageBytes("image/png")).toString("base64"),
  };
  const tools = { Read: () => ({ content: [image] }), Bash: () => undefined };
  const node = await stack.node("laptop", tools, [cancelCapability]);
  model.queue({ toolCalls: [call("laptop__Read", {})] }, { text: "I see" }, { text: "still" });
  await ask("main", "look at the picture");
  expect(JSON.stringify(model.requests.at(-1)?.body)).toContain(image.data);
  await ask("main", "again");
  model.queue({ toolCalls: [call("laptop__Bash", {})] }, { text: "no answer" });
  await ask("main", "wait for nothing");
  await node.event((_, event) => event === "tool.cancel", "the node sees the end of its call");
  await node.close();
}

async function useHeartbeat(): Promise<void> {
  await stack.configure({
    "agents.defaultHeartbeat.every": "1m",
    "agents.defaultHeartbeat.activeHours": { start: "00:00", end: "00:00" },
  });
  await client.call("heartbeat.start");
  const skipped = () => stack.logs.some((line) => line.skipped === "no_heartbeat_file");
  await until(skipped, "a heartbeat is skipped without a HEARTBEAT.md");
  model.queue({ text: "HEARTBEAT_OK" });
  const asked = model.requests.length;
  await client.call("workspace.write", { path: "HEARTBEAT.md", content: "Look after the roses." });
  await until(() => model.requests.length > asked, "the heartbeat asks the model");
  await client.call("heartbeat.stop");
}

async function useDreaming(): Promise<void> {
  await client.call("config.set", { path: "dreaming.enabled", value: true });
  expect(await client.call("memory.dream")).toMatchObject({ busy: false });
  const { nextAt } = await client.call("memory.dreaming");
  await stack.host.invoke("timer", { kind: "dream", agentId: "main", at: nextAt });
  const diary = async () => (await client.call("workspace.read", { path: "DREAMS.md" })).content;
  await until(async () => String(await diary()).split("## Deep Sleep").length === 3, "the timer dreams");
}

async function useLargePayloads(): Promise<void> {
  const identity = { id: "large", version: "0", platform: "test", mode: "client" } as const;
  const large = new Connection({
    url: stack.cloud.ws,
    token: stack.token,
    client: identity,
    capabilities: ["payload-s3"],
  });
  await large.open();
  const content = "x".repeat(200_000);
  await large.request("workspace.write", { path: "large.md", content });
  expect(await large.request("workspace.read", { path: "large.md" })).toMatchObject({ content });
  model.queue({ text: content });
  let final = "";
  large.onEvent("chat", (event) => {
    if (event.state === "final") final = JSON.stringify(event);
  });
  await large.request("chat.send", { sessionKey: "large", message: "say much" });
  await until(() => final.length > 200_000, "the whole answer arrives");
  large.close();
}

async function useTelegram(): Promise<void> {
  const telegram = await startTelegramServer();
  await stack.configure({
    "channels.telegram": {
      dmPolicy: "pairing",
      allowFrom: ["5001002003"],
      accounts: {
        default: { botToken: telegram.token, webhookSecret: "s".repeat(20), apiBaseUrl: telegram.url },
      },
    },
  });
  await new Promise((resolve) => setTimeout(resolve, 5100));
  model.queue({ text: "hello from the agent" });
  telegram.addFile("a-photo", { path: "photos/file_1.jpg", bytes: imageBytes("image/jpeg") });
  const url = `${stack.cloud.webhook}/telegram/default`;
  const answer = await telegram.deliver(photoUpdate("a-photo", "hello"), { url, secret: "s".repeat(20) });
  expect(answer.status).toBe(200);
  await until(() => telegram.sent.length > 0, "the answer is sent");
  const stranger = textUpdate("/status", { from: { id: 42 } });
  await telegram.deliver(stranger, { url, secret: "s".repeat(20) });
  await client.call("pair.approve", { channel: "telegram", senderId: "42" });
  expect(telegram.sent.at(-1)?.text).toContain("Session:");
  await telegram.close();
}

it("uses every permission that the roles grant, and needs no other", async () => {
  const stranger = await Peer.open(stack.cloud.ws);
  await stack.client("twice");
  await stack.client("twice");
  await useFilesAndSkills();
  await letProgramIn();
  await useNodes();
  await useLargePayloads();
  await useTelegram();
  await useHeartbeat();
  await useDreaming();
  await client.call("config.set", { path: "apiKeys.anthropic", value: "sk-test" });
  await client.call("config.set", { path: "apiKeys.anthropic", value: null });
  const { id } = await client.call("token.create", { name: "short" });
  await client.call("token.revoke", { id });
  // The second attempt to close the socket, two minutes after a revocation, in case API Gateway lost the first.
  await stack.cloud.fire("timer", { kind: "close", connectionId: "of-a-revoked-token" });
  await client.call("sessions.list", {});
  await client.call("session.patch", { sessionKey: "idle", resetPolicy: { mode: "idle", idleMinutes: 1 } });
  // The schedule of the first message sees the later message and reschedules itself.
  model.queue({ text: "soon idle" }, { text: "now" });
  await ask("idle", "something");
  await ask("idle", "and then nothing");
  const media = [{ type: "document", mimeType: "text/plain", data: "aGk=", filename: "a.txt" }];
  for (const sessionKey of ["main", "gone"]) {
    model.queue({ text: "a file" });
    await client.call("chat.send", { sessionKey, message: "look", media, runId: `media-${sessionKey}` });
    await client.ended(`media-${sessionKey}`);
    const preview = JSON.stringify(await client.call("session.preview", { sessionKey }));
    const r2Key = preview.match(/media\/[\w:.-]+\/[\w-]+\.\w+/g)?.at(-1);
    const { url } = await client.call<{ url: string }>("media.url", { sessionKey, r2Key });
    expect(await (await fetch(url)).text()).toBe("hi");
  }
  await client.call("session.reset", { sessionKey: "main" });
  expect(await client.call("session.delete", { sessionKey: "gone" })).toMatchObject({ ok: true });
  // Fires half a second later. Its answer has no destination, so no model is called.
  const schedule = { kind: "at", atMs: Date.now() + 30_000 };
  await client.call("cron.add", { name: "x", schedule, spec: { mode: "task", message: "x", deliver: true } });
  await stack.cloud.fire("timer", { kind: "sweep" });
  await until(() => stranger.closed !== undefined, "the stranger is closed");
  expect(stack.roles.refusals()).toEqual([]);
  await expect.poll(() => stack.roles.unusedGrants()).toEqual(unreached);
});
