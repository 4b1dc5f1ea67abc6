import { afterAll, beforeAll, expect, it } from "vitest";
import { openProgram, revisions, textOf } from "../mcp-server/programs.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
let model: ModelServer;

beforeAll(async () => {
  model = await startOpenAiServer(({ turns }) => ({ text: [`heard: ${turns.at(-1)?.text}`] }));
  stack = await startStack();
  await stack.configure({ model: { provider: "openai-compatible", id: "m", baseUrl: model.url } });
});
afterAll(async () => {
  await stack?.close();
  await model?.close();
});

it.each(revisions)(
  "serves a program of the revision %s with the permissions of its roles",
  async (revision) => {
    const { token } = await stack.createToken(["mcp", "mcp:nodes"]);
    const node = await stack.node("laptop", { Greet: () => "hello" });
    const program = await openProgram(stack.cloud.mcp, token, revision);
    expect((await program.listTools()).tools.map(({ name }) => name)).toContain("laptop__Greet");
    const call = async (name: string, args: Record<string, unknown> = {}) =>
      textOf(await program.callTool({ name, arguments: args }));
    expect(await call("laptop__Greet")).toBe("hello");
    expect(await call("ask", { message: "hello", session: revision })).toBe("heard: hello");
    expect(await call("sessions")).toContain("agent:main:mcp-");
    expect(await call("search", { query: "hello" })).toContain("hits");
    expect(await call("memory")).toBe("[]");
    await program.close();
    await node.close();
    expect(stack.roles.refusals()).toEqual([]);
  },
);
