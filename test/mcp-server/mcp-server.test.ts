import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readSession } from "../../shared/session/sessions.ts";
import type { Turn } from "../support/models/scripted-model.ts";
import { openNode, type Peer } from "../support/peer.ts";
import { until } from "../support/until.ts";
import { openProgram, revisions, type Served, send, serve, textOf } from "./programs.ts";

let served: Served;
let url: string;
/** Tokens with `mcp` alone, and with `mcp:nodes` too. */
let narrow: string;
let wide: string;
const nodes: Peer[] = [];
let goOn = () => {};
let long = new Promise<void>(() => {});

const lastText = (turns: Turn[]) => turns.findLast(({ role }) => role === "user")?.text ?? "";
const askedFor = (text: string) =>
  served.model.requests.filter(({ turns }) => lastText(turns).includes(text)).length;

beforeAll(async () => {
  served = await serve(async ({ turns, tools }) => {
    const text = lastText(turns);
    if (text.startsWith("wait")) await long;
    if (text.startsWith("fail")) return { error: { status: 400, message: "no such model" } };
    if (text.startsWith("which tools")) return { text: [tools.join(" ")] };
    return { text: [`heard: ${text}`] };
  });
  url = served.dev.cloud.mcp;
});
let made = 0;
// Each test has its own tokens: a program may send only so many requests.
beforeEach(async () => {
  narrow = await served.tokenOf(`narrow ${++made}`, ["mcp"]);
  wide = await served.tokenOf(`wide ${made}`, ["mcp", "mcp:nodes"]);
});
afterEach(async () => {
  goOn();
  for (const node of nodes.splice(0)) await node.close();
});
afterAll(() => served?.close());

const hold = () => {
  long = new Promise((resolve) => {
    goOn = resolve;
  });
};
const connectNode = async (id: string, tools: Parameters<typeof openNode>[3]) => {
  const node = await openNode(served.dev.url, served.dev.token, id, tools);
  nodes.push(node);
  return node;
};
const ask = (message: string, more: object = {}) => ({ name: "ask", arguments: { message, ...more } });

describe.each(revisions)("a program of the revision %s", (revision) => {
  it("asks the agent, and lists conversations, memories and what was said", async () => {
    const program = await openProgram(url, narrow, revision);
    const { tools } = await program.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["ask", "sessions", "search", "memory"]);
    expect(textOf(await program.callTool(ask(`hello ${revision}`)))).toBe(`heard: hello ${revision}`);
    expect(textOf(await program.callTool({ name: "sessions", arguments: {} }))).toContain(
      "agent:main:mcp:guest:",
    );
    expect(await program.callTool({ name: "search", arguments: { query: "hello" } })).not.toHaveProperty(
      "isError",
    );
    expect(textOf(await program.callTool({ name: "memory", arguments: { limit: 5 } }))).toBe("[]");
    await program.close();
  });

  it("calls the tools of the nodes that are connected, if its token may", async () => {
    await connectNode("laptop", { Greet: ({ name }) => `hello ${name}` });
    const program = await openProgram(url, wide, revision);
    expect((await program.listTools()).tools.map(({ name }) => name)).toContain("laptop__Greet");
    expect(textOf(await program.callTool({ name: "laptop__Greet", arguments: { name: "Ann" } }))).toBe(
      "hello Ann",
    );
    await program.close();
    const other = await openProgram(url, narrow, revision);
    expect((await other.listTools()).tools.map(({ name }) => name)).not.toContain("laptop__Greet");
    const refused = await other.callTool({ name: "laptop__Greet", arguments: {} });
    expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining("mcp:nodes")]);
    await other.close();
  });
});

describe("ask", () => {
  it("begins one run for an id that is sent ten times at once, also by programs without tasks", async () => {
    const program = await openProgram(url, narrow);
    const once = () => program.callTool(ask("only once", { id: "one", session: "ten" }));
    const answers = await Promise.all(Array.from({ length: 10 }, once));
    expect(new Set(answers.map(textOf))).toEqual(new Set(["heard: only once"]));
    expect(askedFor("only once")).toBe(1);
    const another = await openProgram(url, wide);
    expect(textOf(await another.callTool(ask("by another program", { id: "one", session: "ten" })))).toBe(
      "heard: by another program",
    );
    await program.close();
    await another.close();
  });

  it("reports why there is no answer", async () => {
    const program = await openProgram(url, narrow);
    const failed = await program.callTool(ask("fail"));
    expect([failed.isError, textOf(failed)]).toEqual([true, expect.stringContaining("LLM error")]);
    await program.close();
  });

  it("returns a task, whose result is found by its id alone", async () => {
    hold();
    const task = await send(url, narrow, "tools/call", ask("wait for the task"));
    expect(task.result).toMatchObject({ resultType: "task", status: "working", taskId: expect.any(String) });
    const get = () => send(url, narrow, "tasks/get", { taskId: task.result?.taskId });
    expect((await get()).result).toMatchObject({ status: "working", pollIntervalMs: 5000 });
    goOn();
    const done = await until(async () => {
      const { result } = await get();
      return result?.status === "completed" && result;
    });
    expect(textOf(done.result as object)).toBe("heard: wait for the task");
    expect(done.createdAt).toBe(task.result?.createdAt);
  });

  it("shows a task to no other program, and knows none that it did not begin", async () => {
    const task = await send(url, narrow, "tools/call", ask("a secret", { session: "mine" }));
    const { taskId } = task.result ?? {};
    const stranger = await served.tokenOf("stranger", ["mcp"]);
    const ids = [taskId, "x", Buffer.from('["default","mcp-0",1]').toString("base64url"), "A".repeat(900)];
    for (const id of ids) {
      const { error } = await send(url, stranger, "tasks/get", { taskId: id });
      expect(error, String(id)).toMatchObject({ code: -32602 });
    }
  });

  it("stops the run of a cancelled task", async () => {
    hold();
    const task = await send(
      url,
      narrow,
      "tools/call",
      ask("wait until you are stopped", { session: "stop" }),
    );
    const { taskId } = task.result ?? {};
    await until(() => askedFor("wait until you are stopped") === 1);
    expect((await send(url, narrow, "tasks/cancel", { taskId })).error).toBeUndefined();
    const ended = await until(async () => {
      const { result } = await send(url, narrow, "tasks/get", { taskId });
      return result?.status === "completed" && result;
    });
    expect(ended.result).toMatchObject({ isError: true });
  });

  it("has the rights of its token: as a guest without the scope for nodes, else as the owner", async () => {
    await connectNode("laptop", { Greet: () => "hello" });
    const toolsFor = async (token: string) => {
      const program = await openProgram(url, token);
      const text = textOf(await program.callTool(ask("which tools have you?", { session: "tools" })));
      await program.close();
      return text;
    };
    const guest = await toolsFor(narrow);
    expect(guest).not.toMatch(/laptop__|gsv__Cron|gsv__Message|gsv__SessionSend|gsv__ConfigGet/);
    expect(await toolsFor(wide)).toMatch(/laptop__Greet/);
    const state = await readSession(served.dev.cloud.world.table, "agent:main:mcp-tools");
    expect(state?.origins).toEqual([expect.stringMatching(/^guest:mcp\//)]);
  });

  it("keeps conversations of programs away from those of people, whatever name they give", async () => {
    const program = await openProgram(url, wide);
    for (const session of ["x:dm:y", "main", "agent:main:main", "../main"])
      await program.callTool(ask("am I in main?", { session }));
    await program.close();
    const { table } = served.dev.cloud.world;
    expect(await readSession(table, "agent:main:main")).toBeUndefined();
    expect(await readSession(table, "agent:main:mcp-main")).toBeDefined();
  });
});

describe("tools of nodes", () => {
  it("are called by two programs on three nodes, of which one sleeps", async () => {
    for (const id of ["one", "two", "three"]) await connectNode(id, { Name: () => id });
    const programs = [await openProgram(url, wide), await openProgram(url, served.dev.token)];
    const call = (name: string) =>
      programs.map(async (program) => textOf(await program.callTool({ name, arguments: {} })));
    expect(await Promise.all([...call("one__Name"), ...call("two__Name")])).toEqual([
      "one",
      "one",
      "two",
      "two",
    ]);
    await nodes.pop()?.close();
    await until(
      async () => !(await programs[0]?.listTools())?.tools.some(({ name }) => name === "three__Name"),
    );
    for (const said of await Promise.all(call("three__Name")))
      expect(said).toMatch(/^three is not connected/);
    for (const program of programs) await program.close();
  });

  it("return images as images, and their failures as results", async () => {
    await connectNode("laptop", {
      Shot: () => ({ content: [{ type: "image", data: "AAAA", mimeType: "image/png" }] }),
      Count: () => ({ count: 3 }),
    });
    const program = await openProgram(url, wide);
    const shot = await program.callTool({ name: "laptop__Shot", arguments: {} });
    expect(shot.content).toEqual([{ type: "image", data: "AAAA", mimeType: "image/png" }]);
    expect(textOf(await program.callTool({ name: "laptop__Count", arguments: {} }))).toContain('"count": 3');
    const unknown = await program.callTool({ name: "laptop__Other", arguments: {} });
    expect([unknown.isError, textOf(unknown)]).toEqual([true, "unknown tool: laptop__Other"]);
    await program.close();
  });

  it("follow the owner's rules: a call that is denied or needs the owner is not made", async () => {
    let calls = 0;
    await connectNode("laptop", { Bash: () => `${++calls}` });
    const rule = (decision: string) =>
      served.dev.configuration.set("toolApproval.rules", [
        { id: "mine", decision, tool: "laptop__Bash", reason: "not this one" },
      ]);
    const program = await openProgram(url, wide);
    const run = async (command: string) =>
      textOf(await program.callTool({ name: "laptop__Bash", arguments: { command } }));
    await rule("deny");
    expect(await run("ls")).toBe("denied by policy: not this one");
    await rule("ask");
    expect(await run("ls")).toMatch(/owner must be asked before: not this one.*tool ask/);
    expect(calls).toBe(0);
    await served.dev.configuration.set("toolApproval.rules", []);
    expect(await run("ls")).toBe("1");
    await program.close();
  });
});
