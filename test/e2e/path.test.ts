import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { messageKey, metaKey } from "../../shared/session/state.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
let model: ModelServer;
beforeAll(async () => {
  model = await startOpenAiServer();
  stack = await startStack();
  await stack.configure({ model: { provider: "openai-compatible", id: "m", baseUrl: model.url } });
});
afterAll(async () => {
  await stack?.close();
  await model?.close();
});

/** What the functions log of one run, in the order of the table in docs/architecture.md. */
const hops = [
  "socket.in",
  "inbox.append",
  "agent.in",
  "run.start",
  "tool.dispatch",
  "agent.out",
  "tool.result",
  "run.end",
];

it("a message follows the documented path, and each hop is logged", async () => {
  const sessionKey = "agent:main:main";
  const client = await stack.client();
  let release = () => {};
  const node = await stack.node("laptop", {
    Read: () => new Promise((resolve) => (release = () => resolve({ content: "hello" }))),
  });
  model.queue(
    { toolCalls: [{ id: "call_1", name: "laptop__Read", arguments: { path: "a" } }] },
    { text: "It says hello." },
  );
  await client.call("chat.send", { sessionKey: "main", message: "what does it say?", runId: "walk" });
  await until(() => node.calls.length === 1, "the node has the call");

  // While the tool runs, the session is committed as waiting and has no owner: no function runs.
  await expect.poll(async () => (await stack.table.get(metaKey(sessionKey)))?.owner).toBeUndefined();
  const waiting = await stack.table.get(metaKey(sessionKey));
  expect(waiting).toMatchObject({
    head: 2,
    inbox: [],
    run: { runId: "walk", phase: "tools", pendingCount: 1 },
  });
  expect(waiting?.dueAt).toBeGreaterThan(Date.now());
  await until(() => stack.logs.some((line) => line.event === "agent.out"), "the agent has ended");

  release();
  expect(await client.ended("walk")).toMatchObject({ state: "final" });
  await expect.poll(async () => (await stack.table.get(metaKey(sessionKey)))?.owner).toBeUndefined();
  const idle = await stack.table.get(metaKey(sessionKey));
  expect(idle).toMatchObject({ head: 4, inbox: [] });
  expect(idle).not.toHaveProperty("run");
  expect(idle).not.toHaveProperty("dueAt");
  const roles = [];
  for (let seq = 1; seq <= 4; seq++) {
    const item = await stack.table.get(messageKey(sessionKey, String(idle?.sessionId), seq));
    roles.push(JSON.parse(String(item?.body)).role);
  }
  expect(roles).toEqual(["user", "assistant", "toolResult", "assistant"]);

  const seen = stack.logs.map((line) => line.event);
  let from = -1;
  for (const hop of hops) {
    from = seen.indexOf(hop, from + 1);
    expect(from, `${hop} is logged, behind the hops before it`).toBeGreaterThanOrEqual(0);
  }
  expect(JSON.stringify(stack.logs), "content is never logged").not.toContain("what does it say");
});

it("the document's table names only existing files", () => {
  const document = readFileSync("docs/architecture.md", "utf8");
  const table = document.split("## The path of one message")[1]?.split("## ")[0] ?? "";
  let folder = "";
  const named = [...table.matchAll(/`([\w/.-]+)`/g)].map(([, name = ""]) => name);
  const files = named.filter((name) => name.endsWith(".ts") || name.endsWith("/"));
  expect(files.length).toBeGreaterThan(15);
  for (const file of files) {
    if (file.includes("/")) folder = file.slice(0, file.lastIndexOf("/"));
    const path = file.includes("/") ? file : `${folder}/${file}`;
    expect(() => readFileSync(path).length || 1, path).not.toThrow(/ENOENT/);
  }
});
