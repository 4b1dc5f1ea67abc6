import { afterAll, beforeAll, expect, it } from "vitest";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../support/models/scripted-model.ts";
import type { Peer } from "../support/peer.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
let model: ModelServer;
let client: Peer;
let reply: (request: ModelRequest) => Reply;
beforeAll(async () => {
  model = await startOpenAiServer((request) => reply(request));
  stack = await startStack();
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    agents: {
      list: [
        { id: "main", default: true },
        {
          id: "clerk",
          tools: { allow: ["gsv__*", "laptop__R*"], deny: ["gsv__WriteFile"] },
          delegates: ["work"],
        },
      ],
    },
  });
  client = await stack.client();
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
});

/** Calls the tool once, then answers. @returns the tool's results that the model read */
function answerWith(name: string, args: Record<string, unknown>): string[] {
  const results: string[] = [];
  reply = ({ turns }) => {
    const last = turns.at(-1);
    if (last?.role !== "tool") return { toolCalls: [{ name, arguments: args }] };
    results.push(last.text);
    return { text: "done" };
  };
  return results;
}

const refused = (tool: string) => expect.stringContaining(`${tool} is not among the tools`);

it("an agent without a right is refused: to its model's call, in a job, and in another agent's send", async () => {
  const node = await stack.node("laptop", { Bash: () => "ran", Read: () => "text" });
  const said = async (
    runId: string,
    name: string,
    args: Record<string, unknown>,
    sessionKey = "agent:clerk:main",
  ) => {
    const results = answerWith(name, args);
    await client.call("chat.send", { sessionKey, message: runId, runId });
    await client.ended(runId);
    return results;
  };
  expect(await said("node", "laptop__Bash", { command: "ls" })).toEqual([refused("laptop__Bash")]);
  expect(await said("bare", "WriteFile", { path: "a", content: "" })).toEqual([refused("WriteFile")]);
  const offered = model.requests.at(-1)?.tools ?? [];
  expect(offered).toContain("laptop__Read");
  expect(offered).not.toContain("laptop__Bash");
  expect(offered).not.toContain("gsv__WriteFile");

  const inJob = answerWith("laptop__Bash", { command: "ls" });
  const spec = { mode: "task", message: "clean up" };
  const schedule = { kind: "every", everyMs: 3_600_000 };
  const added = await client.call<{ job: { id: string } }>("cron.add", {
    ...{ name: "clean", agentId: "clerk", schedule, spec },
  });
  await client.call("cron.run", { id: added.job.id, mode: "force" });
  await expect.poll(() => inJob, { timeout: 30_000 }).toEqual([refused("laptop__Bash")]);

  const inSend: string[] = [];
  reply = ({ turns }) => {
    const last = turns.at(-1);
    const isClerk = turns.some(({ text }) => text.includes("[session · "));
    if (last?.role === "tool" && isClerk) inSend.push(last.text);
    if (last?.role === "tool") return { text: "done" };
    const send = {
      name: "gsv__SessionSend",
      arguments: { sessionKey: "agent:clerk:asked", message: "list" },
    };
    return { toolCalls: [isClerk ? { name: "laptop__Bash", arguments: { command: "ls" } } : send] };
  };
  await client.call("chat.send", { sessionKey: "agent:main:main", message: "ask", runId: "ask" });
  await client.ended("ask");
  expect(inSend).toEqual([refused("laptop__Bash")]);
  expect(node.calls).toEqual([]);
});

it("an agent with delegates addresses no other agent, by a message or by a job", async () => {
  const said = async (runId: string, name: string, args: Record<string, unknown>) => {
    const results = answerWith(name, args);
    await client.call("chat.send", { sessionKey: "agent:clerk:main", message: runId, runId });
    await client.ended(runId);
    return results.join();
  };
  const no = "clerk may not address the agent main";
  expect(await said("send", "gsv__SessionSend", { sessionKey: "agent:main:main", message: "x" })).toContain(
    no,
  );
  const job = { agentId: "Main", schedule: "every 2 hours", spec: { mode: "task", message: "x" } };
  expect(await said("job", "gsv__Cron", { action: "add", job })).toContain(no);
  const own = await client.call<{ job: { id: string } }>("cron.add", {
    ...{ name: "of main", schedule: { kind: "every", everyMs: 3_600_000 }, spec: job.spec, enabled: false },
  });
  for (const action of ["update", "remove", "run"])
    expect(await said(action, "gsv__Cron", { action, id: own.job.id, mode: "force", patch: {} })).toContain(
      no,
    );
  const away = { action: "add", job: { ...job, agentId: "clerk" } };
  expect(await said("own", "gsv__Cron", away)).toContain('"ok":true');
});
