import { afterEach, describe, expect, it } from "vitest";
import { questionOf } from "../../../shared/approvals/question.ts";
import { type McpTestServer, type ServerOptions, startMcpServer } from "../../support/mcp/mcp-server.ts";
import { immortal } from "../bench.ts";
import {
  answer,
  approving,
  asked,
  events,
  fire,
  invoke,
  on,
  openHere,
  otherSession,
  results,
  runOf,
  say,
  useApprovalBench,
} from "../tools/approval-bench.ts";

useApprovalBench();

let server: McpTestServer;
afterEach(async () => {
  on.bench.configuration = { ...on.bench.configuration, mcp: { servers: {} } };
  await server.close();
});

async function serve(options: Partial<ServerOptions>) {
  const tools = [{ name: "delete", inputSchema: { type: "object" } }];
  server = await startMcpServer({ tools, ttlMs: 10 * 86_400_000, ...options });
  approving({});
  on.bench.configuration = { ...on.bench.configuration, mcp: { servers: { docs: { url: server.url } } } };
}

const form = (message: string, properties = {}) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties } },
});
const said = async () => results(await on.bench.live(on.sessionKey));
const remove = { name: "docs__delete", arguments: {} };

/** A server that asks once in a call, and then says what it was answered. */
const asking = (properties = {}): Partial<ServerOptions> => ({
  call: (_name, _args, { inputResponses, requestState }) =>
    inputResponses === undefined
      ? {
          resultType: "input_required",
          inputRequests: { sure: form("Really delete 3 pages?", properties) },
          requestState: "opaque",
        }
      : { content: [{ type: "text", text: JSON.stringify([inputResponses, requestState]) }] },
});

describe("a server's question", () => {
  it("waits for the owner as a request does, and the call goes on with the answer", async () => {
    await serve(asking());
    await asked(remove);
    expect((await on.bench.state(on.sessionKey)).owner).toBeUndefined();
    const [request] = await openHere();
    expect(request).toMatchObject({
      kind: "mcp",
      tool: "docs__delete",
      args: {},
      why: "docs asks before it goes on",
    });
    expect(events("approval.requested")).toMatchObject([{ id: request?.id }]);
    expect(questionOf(request!, {}, false).text).toContain("Really delete 3 pages?");
    expect((await answer("allow")).status).toBe("answered");
    await invoke();
    expect(await said()).toEqual(['[{"sure":{"action":"accept","content":{}}},"opaque"]']);
    expect(await openHere()).toEqual([]);
  });

  it("that the owner denies is declined at the server", async () => {
    await serve(asking());
    await asked(remove);
    await answer("deny");
    await invoke();
    expect(await said()).toEqual(['[{"sure":{"action":"decline"}},"opaque"]']);
  });

  it("and its answer survive a kill at any call, and the server gets one answer", async () => {
    for (let left = 1; ; left++) {
      const life = immortal();
      life.left = left;
      otherSession();
      await serve(asking());
      on.replies = [{ toolCalls: [remove] }];
      await say(`killed at ${left}`);
      await invoke(life);
      const wasKilled = life.left <= 0;
      if (!(await on.bench.live(on.sessionKey)).some(({ role }) => role === "assistant"))
        on.replies = [{ toolCalls: [remove] }];
      for (let tries = 0; tries < 6 && (await openHere()).length === 0; tries++) await invoke();
      if ((await openHere()).length > 0) await answer("allow");
      for (let tries = 0; tries < 6 && (await runOf()) !== undefined; tries++) await invoke();
      const answers = server.requests.filter(({ params }) => params.inputResponses !== undefined);
      expect(answers.length).toBeLessThanOrEqual(1);
      expect(await said()).toEqual([expect.stringMatching(/"action":"accept"|interrupted, outcome unknown/)]);
      await server.close();
      if (!wasKilled) break;
    }
  });

  it("for one value is answered by the note", async () => {
    await serve(asking({ reason: { type: "string" } }));
    await asked(remove);
    await answer("allow", { note: "they are old" });
    await invoke();
    expect(await said()).toEqual([
      '[{"sure":{"action":"accept","content":{"reason":"they are old"}}},"opaque"]',
    ]);
  });

  it("for one value without a note is an error that says so", async () => {
    await serve(asking({ reason: { type: "string" } }));
    await asked(remove);
    await answer("allow");
    await invoke();
    expect(await said()).toEqual([
      expect.stringMatching(/^Error: docs asks for reason, and your human allowed it without/),
    ]);
  });

  it("for several values, or for a model, asks nobody and says why", async () => {
    await serve(asking({ a: { type: "string" }, b: { type: "string" } }));
    await asked(remove);
    expect(await openHere()).toEqual([]);
    expect(await said()).toEqual([
      expect.stringMatching(/^Error: docs asks for several answers at once \(a, b\)/),
    ]);
  });

  it("is withdrawn when the owner writes something else", async () => {
    await serve(asking());
    await asked(remove);
    const [request] = await openHere();
    await say("never mind");
    await invoke();
    expect(await openHere()).toEqual([]);
    expect(events("approval.resolved")).toContainEqual(
      expect.objectContaining({ id: request?.id, state: "withdrawn" }),
    );
    expect(server.requests.filter(({ method }) => method === "tools/call")).toHaveLength(1);
  });

  it("that nobody answers ends the call after its time", async () => {
    await serve(asking());
    await asked(remove);
    await fire("tool-timeout");
    await invoke();
    expect(await said()).toEqual([expect.stringMatching(/nobody answered/)]);
    expect(await runOf()).toBeUndefined();
  });
});

describe("a question of a task", () => {
  const updates: unknown[] = [];
  const task = { taskId: "t1", ttlMs: null, pollIntervalMs: 600_000, createdAt: "", lastUpdatedAt: "" };
  let isAnswered = false;
  let repeats = 0;
  const ofTask = (): Partial<ServerOptions> => {
    Object.assign(updates, { length: 0 });
    isAnswered = false;
    repeats = 1;
    return {
      call: () => ({ ...task, resultType: "task", status: "working" }),
      methods: {
        "tasks/get": () => {
          // A server may show for a moment what was answered.
          if (!isAnswered || repeats-- > 0)
            return {
              ...task,
              resultType: "complete",
              status: "input_required",
              inputRequests: { sure: form("Go on?") },
            };
          const result = { content: [{ type: "text", text: "done" }] };
          return { ...task, resultType: "complete", status: "completed", result };
        },
        "tasks/update": ({ inputResponses }) => {
          updates.push(inputResponses);
          isAnswered = true;
          return { resultType: "complete" };
        },
        "tasks/cancel": () => ({ resultType: "complete" }),
      },
    };
  };
  const poll = async () => {
    await fire("task-poll");
    await invoke();
  };

  it("is asked once, answered by an update, and the task goes on", async () => {
    await serve(ofTask());
    await asked(remove);
    await poll();
    expect(await openHere()).toMatchObject([{ kind: "mcp", requester: { message: "Go on?" } }]);
    await answer("allow");
    await invoke();
    expect(updates).toEqual([{ sure: { action: "accept", content: {} } }]);
    for (let polls = 0; (await runOf()) !== undefined && polls < 5; polls++) await poll();
    expect(await said()).toEqual(["done"]);
    expect(await openHere()).toEqual([]);
  });

  it("is withdrawn with its task by a stop and by a later message", async () => {
    await serve(ofTask());
    await asked(remove);
    await poll();
    await say("something else");
    await invoke();
    expect(await openHere()).toEqual([]);
    expect(server.requests.at(-1)?.method).toBe("tasks/cancel");
  });
});
