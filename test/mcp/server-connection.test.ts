import { afterEach, describe, expect, it } from "vitest";
import { McpFault } from "../../shared/mcp/mcp-fault.ts";
import { withServer } from "../../shared/mcp/server-connection.ts";
import { type ServerOptions, startMcpServer } from "../support/mcp/mcp-server.ts";
import { startSdkServer } from "../support/mcp/sdk-server.ts";

const search = { name: "search", inputSchema: { type: "object", properties: { q: { type: "string" } } } };

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function start(options: Partial<ServerOptions> = {}) {
  const server = await startMcpServer({ tools: [search], ...options });
  closing.push(server.close);
  return server;
}

const address = (url: string, token?: string) => ({
  name: "test",
  url,
  token: async () => token,
  renew: async () => {
    throw new McpFault("test: the token was refused", { needsLogin: true });
  },
});

const faultOf = (url: string, token?: string): Promise<string> =>
  withServer(address(url, token), (connection) => connection.list(0)).then(
    () => "no fault",
    (error: unknown) => {
      expect(error).toBeInstanceOf(McpFault);
      return (error as McpFault).message;
    },
  );

describe("a connection to an MCP server", () => {
  it("lists and calls a server of the SDK", async () => {
    const server = await startSdkServer();
    closing.push(server.close);
    const { catalogue, answer } = await withServer(address(server.url), async (connection) => {
      const catalogue = await connection.list(7);
      const [greet] = catalogue.tools;
      if (!greet) throw new Error("no tool");
      return { catalogue, answer: await connection.call(greet, { name: "Ada" }, 5000) };
    });
    expect(catalogue).toMatchObject({ listedAt: 7, omitted: 0, tools: [{ name: "greet" }] });
    expect(catalogue.discovered).toBeDefined();
    expect(answer).toMatchObject({ kind: "result", result: { content: [{ text: "Hello, Ada" }] } });
  });

  it.each(["modern", "legacy"] as const)("lists all pages of a %s server, and calls it", async (era) => {
    const tools = Array.from({ length: 7 }, (_, i) => ({ ...search, name: `tool${i}` }));
    const server = await start({ era, tools, pageSize: 3 });
    const { catalogue, answer } = await withServer(address(server.url), async (connection) => ({
      catalogue: await connection.list(0),
      answer: await connection.call(search, { q: "x" }, 5000).catch((error: unknown) => error),
    }));
    expect(catalogue.tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    expect(String(answer)).toContain("Unknown tool: search");
  });

  it("asks a server that it knows nothing but the call itself", async () => {
    const server = await start();
    const known = await withServer(address(server.url), (connection) => connection.list(0));
    server.requests.length = 0;
    await withServer(address(server.url), (connection) => connection.call(search, {}, 5000), { known });
    expect(server.requests.map(({ method }) => method)).toEqual(["tools/call"]);
  });

  it("sends its token, and says what to do when it is refused", async () => {
    const server = await start({ token: () => "secret" });
    await withServer(address(server.url, "secret"), (connection) => connection.list(0));
    expect(await faultOf(server.url, "wrong")).toBe("test: the token was refused");
  });

  it("returns a task, asks about it, answers its question and cancels it", async () => {
    const task = { taskId: "t1", createdAt: "", lastUpdatedAt: "", ttlMs: null, pollIntervalMs: 5000 };
    const states = [
      { ...task, status: "working", statusMessage: "half" },
      { ...task, status: "input_required", inputRequests: { name: { method: "elicitation/create" } } },
      { ...task, status: "failed", error: { code: -32603, message: "no disk" } },
      { ...task, status: "completed", result: { content: [{ type: "text", text: "done" }] } },
    ];
    const server = await start({
      call: () => ({ ...task, resultType: "task", status: "working" }),
      methods: {
        "tasks/get": () => ({ resultType: "complete", ...states.shift() }),
        "tasks/update": () => ({ resultType: "complete" }),
        "tasks/cancel": () => ({ resultType: "complete" }),
      },
    });
    const seen = await withServer(address(server.url), async (connection) => [
      await connection.call(search, {}, 5000),
      await connection.task("t1"),
      await connection.task("t1"),
      await connection.answer("t1", { name: { action: "accept", content: {} } }),
      await connection.task("t1"),
      await connection.task("t1"),
      await connection.cancel("t1"),
    ]);
    expect(seen).toEqual([
      { kind: "task", task: { taskId: "t1", pollMs: 5000, status: "working" } },
      { taskId: "t1", pollMs: 5000, status: "working", message: "half" },
      {
        taskId: "t1",
        pollMs: 5000,
        status: "input_required",
        requests: { name: { method: "elicitation/create" } },
      },
      undefined,
      { taskId: "t1", pollMs: 5000, status: "failed", reason: "no disk" },
      {
        taskId: "t1",
        pollMs: 5000,
        status: "completed",
        result: { content: [{ type: "text", text: "done" }] },
      },
      undefined,
    ]);
    const asked = server.requests.filter(({ method }) => method.startsWith("tasks/"));
    expect(asked.map(({ headers }) => headers["mcp-name"])).toEqual(Array(6).fill("t1"));
    expect(asked[0]?.params._meta).toMatchObject({
      "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
    });
  });

  it("returns a question, and calls again with the answer and the server's state", async () => {
    const server = await start({
      call: (_name, _args, params) =>
        params.inputResponses
          ? {
              content: [{ type: "text", text: JSON.stringify([params.inputResponses, params.requestState]) }],
            }
          : {
              resultType: "input_required",
              inputRequests: { sure: { method: "elicitation/create", params: { message: "Sure?" } } },
              requestState: "opaque",
            },
    });
    const [question, result] = await withServer(address(server.url), async (connection) => [
      await connection.call(search, {}, 5000),
      await connection.call(search, {}, 5000, { responses: { sure: { action: "accept" } }, state: "opaque" }),
    ]);
    expect(question).toMatchObject({ kind: "question", state: "opaque", requests: { sure: {} } });
    expect(result).toMatchObject({
      result: { content: [{ text: '[{"sure":{"action":"accept"}},"opaque"]' }] },
    });
  });
});

describe("every fault of an MCP server is one sentence that says what to do", () => {
  const always = (status: number, body = "", headers = {}): Partial<ServerOptions> => ({
    before: (_request, response) => {
      response.writeHead(status, headers).end(body);
      return true;
    },
  });

  it.each([
    [always(403), /refuses this account \(403\)/],
    [always(404), /no MCP server at http:.*mcp\.servers\.test\.url/],
    [always(503), /answered with 503; try again later|could not be reached/],
    [always(200, "<html>", { "content-type": "text/html" }), /test .*(not MCP|could not be reached)/],
    [always(200, "{", { "content-type": "application/json" }), /test .*(not MCP|could not be reached)/],
    [
      always(302, "", { location: "http://10.0.0.1/" }),
      /test .*(not followed|could not be reached|answered)/i,
    ],
    [{ token: () => "secret" }, /the token was refused/],
    [
      { methods: { "tools/list": () => ({ rpcError: { code: -32603, message: "no\nidea" } }) } },
      /-32603\): no idea/,
    ],
    [{ methods: { "tools/list": () => ({ resultType: "complete", tools: 3 }) } }, /not MCP/],
  ] as [Partial<ServerOptions>, RegExp][])("case %#", async (options, sentence) => {
    const server = await start(options);
    const fault = await faultOf(server.url);
    expect(fault).toMatch(sentence);
    expect(fault).toMatch(/^test\b/);
    expect(fault).not.toContain("\n");
  });

  it("names a server that does not run, and asks no private address that nobody configured", async () => {
    const server = await start();
    await server.close();
    expect(await faultOf(server.url)).toMatch(/could not be reached \(ECONNREFUSED\)/);
  });
});
