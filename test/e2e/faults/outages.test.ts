import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { Conversation } from "../../../cli/chat/conversation.ts";
import { openGateway } from "../../../cli/gateway/gateway-client.ts";
import type { FunctionName } from "../../../infra/permissions.ts";
import { accessKeyIdOfFunction } from "../../aws/emulators/lambda/process-host.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import type { Peer } from "../../support/peer.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

let stack: Stack;
let model: ModelServer;
let client: Peer;
/** The service that a function cannot reach now, by its name in actions. */
let down: { name: FunctionName; service: string } | undefined;

beforeAll(async () => {
  model = await startOpenAiServer();
  // One sweep a second keeps the waits short.
  stack = await startStack({ acceleration: 60, isSwept: true });
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "apiKeys.openai-compatible": "key",
  });
  const { authorize } = stack.roles;
  stack.roles.authorize = (request) => {
    const isDown =
      down !== undefined &&
      request.accessKeyId === accessKeyIdOfFunction(down.name) &&
      request.action.startsWith(`${down.service}:`);
    return !isDown && authorize(request);
  };
});
beforeEach(async () => {
  client = await stack.client();
});
afterEach(async () => {
  down = undefined;
  await client.close();
});
afterAll(async () => {
  expect(stack.roles.refusals()).toEqual([]);
  await stack?.close();
  await model?.close();
});

/** Makes a service unreachable for a new process of the agent, which has nothing cached. */
function makeUnreachable(service: string): void {
  stack.host.renew("agent");
  down = { name: "agent", service };
}
const send = (sessionKey: string, message: string) =>
  client.call<{ runId: string }>("chat.send", { sessionKey, message });
const loggedSince = (start: number, event: string) =>
  stack.logs.slice(start).filter((line) => line.event === event);

it.each([
  ["files", "s3"],
  ["secrets", "ssm"],
])(
  "a turn that cannot read its %s says that it waits, until it is stopped, and the next one is answered",
  async (what, service) => {
    makeUnreachable(service);
    const waiting = await send(what, "hello");
    const waits = { runId: waiting.runId, state: "retry", reason: "the turn was interrupted 3 times" };
    await expect
      .poll(() => client.events, { timeout: 20_000 })
      .toContainEqual(expect.objectContaining({ payload: expect.objectContaining(waits) }));
    down = undefined;
    await send(what, "/stop");
    expect(await client.ended(waiting.runId)).toMatchObject({
      state: "error",
      error: "Run cancelled by user",
    });
    model.queue({ text: "here again" });
    const { runId } = await send(what, "and now?");
    expect(await client.ended(runId)).toMatchObject({ state: "final" });
  },
);

it("a message sent while the agent cannot reach the table is answered when it can", async () => {
  makeUnreachable("dynamodb");
  const before = stack.logs.length;
  model.queue({ text: "at last" });
  const { runId } = await send("table", "hello");
  await until(() => loggedSince(before, "agent.failed").length >= 3, "Lambda has given the event up");
  down = undefined;
  expect(await client.ended(runId)).toMatchObject({ state: "final" });
  expect(loggedSince(before, "sweep.wake").length).toBeGreaterThan(0);
});

it("an accepted message whose agent could not be woken is reported as failed, and is answered later", async () => {
  down = { name: "socket", service: "lambda" };
  model.queue({ text: "once" });
  const params = { sessionKey: "asleep", message: "hello", runId: "asleep" };
  const { ok, error } = await client.request("chat.send", params);
  expect({ ok, ...error }).toMatchObject({ ok: false, code: 500, retryable: true });
  expect(await client.ended("asleep")).toMatchObject({ state: "final" });
  down = undefined;
  await client.call("chat.send", params);
  expect(await client.call("session.stats", { sessionKey: "asleep" })).toMatchObject({ messageCount: 2 });
});

it("a turn with a tool is answered although its timeout cannot be scheduled", async () => {
  const node = await stack.node("laptop", { Bash: () => "listed" });
  makeUnreachable("scheduler");
  model.queue(
    { toolCalls: [{ name: "laptop__Bash", arguments: { command: "ls" } }] },
    { text: "that is all" },
  );
  const { runId } = await send("schedules", "list");
  expect(await client.ended(runId)).toMatchObject({ state: "final" });
  expect(node.calls).toHaveLength(1);
  await node.close();
});

it("the client looks up an answer whose event could not be sent", async () => {
  const gateway = await openGateway(stack.cloud.ws, stack.token);
  const conversation = new Conversation(gateway, "silence", { quietMs: 500, retryMs: 100 });
  makeUnreachable("execute-api");
  model.queue({ text: "written, not sent" });
  expect(await conversation.send("hello", () => {})).toMatchObject({
    status: "answered",
    text: "written, not sent",
  });
  await until(() => stack.logs.some((line) => line.event === "broadcast.failed"), "it is logged");
  conversation.close();
  await gateway.close();
});
