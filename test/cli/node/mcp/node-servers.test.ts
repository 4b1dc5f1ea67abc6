import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type RunningNode, startNode } from "../../../../cli/node/node-runtime.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { until } from "../../../support/until.ts";
import { startTestGateway, type TestGateway } from "../../test-gateway.ts";
import { processesNamed, uniqueSleep, withEmptyHome } from "../processes.ts";

/** MCP servers of a node: real processes, of the SDK and without it. */

withEmptyHome();

const here = import.meta.dirname;
const secret = "sk-very-secret-42";
let gateway: TestGateway;
let folder: string;
let file: string;
let marker: string;
let lines: string[];
let node: RunningNode;
let calls = 0;

beforeEach(async () => {
  gateway = await startTestGateway();
  folder = newFolder();
  file = join(folder, "mcp.json");
  marker = uniqueSleep();
  lines = [];
});
afterEach(async () => {
  await node?.stop();
  await gateway.stop();
});

const fixture = (changes: object = {}) => ({
  command: process.execPath,
  args: [join(here, "sdk-server.mjs"), marker],
  env: { API_KEY: secret },
  ...changes,
});
const variable = (name: string) => ["$", "{", name, "}"].join("");
const write = (mcpServers: Record<string, unknown>) => writeFileSync(file, JSON.stringify({ mcpServers }));

async function start(): Promise<void> {
  const environment = { ...process.env, OTHER: "of the node", KEY_OF_SHELL: secret };
  node = startNode({
    ...{ url: gateway.url, token: "t", nodeId: "laptop", workspace: folder, version: "0", environment },
    ...{ mcpFile: file, journalFolder: join(folder, "state"), onLog: (line: string) => lines.push(line) },
    timing: { backoffMinMs: 1, backoffMaxMs: 20 },
  });
  await node.connection.open();
}

interface Announced {
  tools: { name: string; description: string; inputSchema: object }[];
  nodeRuntime: { toolCapabilities: Record<string, string[]> };
}
const announced = () => gateway.of("connect").at(-1)?.params as unknown as Announced;
const names = () =>
  announced()
    .tools.map(({ name }) => name)
    .filter((name) => name.includes("__"));
const state = () =>
  JSON.parse(readFileSync(join(folder, "state/mcp-status.json"), "utf8")) as {
    servers: { name: string; state: string; pid: number; restarts: number; error?: string }[];
    faults: string[];
  };
const server = (name: string) => state().servers.find((one) => one.name === name);

const pidOf = (name: string) => until(() => server(name)?.pid, `the process of ${name}`);

/** Calls a tool, without waiting. @returns the call's id */
function begin(tool: string, args: object = {}): string {
  const callId = `call-${++calls}`;
  gateway.sendEvent("tool.invoke", { callId, tool, args });
  return callId;
}
const resultsOf = (callId: string) =>
  gateway.of("tool.result").flatMap(({ params }) => (params.callId === callId ? [params] : []));
const resultOf = (callId: string) => until(() => resultsOf(callId)[0], `a result of ${callId}`);
const call = (tool: string, args: object = {}) => resultOf(begin(tool, args));
const textOf = (result: Record<string, unknown>) => JSON.stringify(result.result ?? result.error);

describe("the MCP servers of a node", () => {
  it("announce their tools, and run ten calls at once", async () => {
    write({ "My Notes": fixture(), off: fixture({ disabled: true }) });
    await start();
    expect(names()).toContain("my-notes__echo");
    expect(announced().tools.map(({ name }) => name)).toContain("Bash");
    expect(announced().nodeRuntime.toolCapabilities["my-notes__echo"]).toEqual(["shell.exec"]);
    const slow = Array.from({ length: 10 }, (_, n) => begin("my-notes__slow", { ms: 1000 + n }));
    const began = Date.now();
    const answers = await Promise.all(slow.map(resultOf));
    expect(answers.map(textOf)).toEqual(slow.map((_, n) => expect.stringContaining(`after ${1000 + n}`)));
    expect(Date.now() - began, "one after the other would take ten seconds").toBeLessThan(6000);
    expect(await call("my-notes__picture")).toMatchObject({
      result: { content: [{ type: "image", mimeType: "image/png", data: "cG5n" }] },
    });
    await pidOf("my-notes");
    expect(state().servers).toMatchObject([
      { name: "my-notes", state: "running", tools: 7, restarts: 0, pid: expect.any(Number) },
      { name: "off", state: "disabled" },
    ]);
  });

  it("give one error when a server is killed during a call, and start it again", async () => {
    write({ notes: fixture() });
    await start();
    const pid = await pidOf("notes");
    const hanging = begin("notes__slow", { ms: 60_000 });
    await until(
      () => lines.some((line) => line.includes(`${hanging} notes__slow started`)) || undefined,
      "a call",
    );
    await call("notes__echo", { text: "it runs" });
    process.kill(pid, "SIGKILL");
    expect(await resultOf(hanging)).toMatchObject({ error: "the MCP server notes ended during the call" });
    expect(textOf(await call("notes__echo", { text: "back" }))).toContain("back");
    expect(resultsOf(hanging)).toHaveLength(1);
    await until(() => server("notes")?.restarts === 1 || undefined, "a restart");
    expect(await pidOf("notes")).not.toBe(pid);
    expect(gateway.of("connect"), "the same tools are not announced again").toHaveLength(1);
  });

  it("end with their children when the node stops, and when a server dies", async () => {
    write({ notes: fixture() });
    await start();
    await call("notes__child");
    await until(() => processesNamed(`${marker};`).length > 0 || undefined, "a child");
    process.kill(await pidOf("notes"), "SIGKILL");
    await until(() => processesNamed(`-c ${marker}`).length === 0 || undefined, "the child has ended");
    expect(await call("notes__child")).toMatchObject({ result: {} });
    await until(() => processesNamed(`-c ${marker}`).length > 0 || undefined, "another child");
    await node.stop();
    expect(processesNamed(marker)).toEqual([]);
    expect(state().servers).toMatchObject([{ name: "notes", state: "stopped" }]);
  });

  it("announce tools again that a server adds", async () => {
    write({ notes: fixture() });
    await start();
    expect(names()).not.toContain("notes__grown");
    await call("notes__grow");
    await until(() => names().includes("notes__grown") || undefined, "another announcement");
    expect(textOf(await call("notes__grown"))).toContain("grown");
  });

  it("follow the file: entries that appear, change, and go; a file that is no JSON changes nothing", async () => {
    await start();
    expect(names()).toEqual([]);
    write({ one: fixture() });
    await until(() => names().includes("one__echo") || undefined, "the first server");
    const pid = await pidOf("one");
    writeFileSync(file, `{"mcpServers": {"one": {"env": {"API_KEY": "${secret}" oops`);
    await until(() => state().faults[0], "a fault");
    expect(state().faults[0]).toMatch(/mcp\.json is not JSON at position \d+$/);
    write({ one: fixture(), two: { command: process.execPath, args: [join(here, "old-server.mjs")] } });
    await until(() => names().some((name) => name.startsWith("two__")) || undefined, "the second server");
    expect(server("one")?.pid, "an unchanged entry goes on").toBe(pid);
    write({ two: { command: process.execPath, args: [join(here, "old-server.mjs")] } });
    await until(() => !names().includes("one__echo") || undefined, "the first server is gone");
    expect(lines.join("\n")).not.toContain(secret);
  });

  it("may be of an old protocol, end at the probe of the new one, and have schemas that providers refuse", async () => {
    write({ old: { command: process.execPath, args: [join(here, "old-server.mjs")] } });
    await start();
    const [tool] = await until(() => {
      const found = announced().tools.filter(({ name }) => name.startsWith("old__"));
      return found.length > 0 ? found : undefined;
    }, "the old server");
    expect(tool?.inputSchema).toMatchObject({ type: "object", required: ["input"] });
    expect(textOf(await call(tool!.name, { input: { a: 1 } }))).toContain('{\\"a\\":1}');
  });

  it("keep their secrets: none leaves the node, and none is in its log", async () => {
    write({
      notes: fixture({ env: { API_KEY: variable("KEY_OF_SHELL"), HOME: variable("NONE:-/fallback") } }),
    });
    await start();
    const shown = textOf(await call("notes__secret"));
    expect(shown).toContain("key ***, home /fallback, other undefined");
    expect(await call("notes__fail")).toMatchObject({ error: "refused for ***" });
    await until(
      () => lines.some((line) => line.includes("mcp notes: starting with ***")) || undefined,
      "its log",
    );
    const sent = JSON.stringify(gateway.requests) + lines.join("\n") + JSON.stringify(state());
    expect(sent).not.toContain(secret);
  });

  it("do not keep each other from starting, and say what is wrong", async () => {
    write({
      notes: fixture(),
      missing: { command: "gsv-no-such-program" },
      ends: { command: process.execPath, args: ["-e", "process.exit(7)"] },
      far: { url: "https://mcp.example/mcp" },
      strange: { command: 7 },
    });
    await start();
    expect(names()).toContain("notes__echo");
    await until(() => (server("ends")?.restarts ?? 0) >= 2 || undefined, "restarts");
    expect(server("missing")?.error).toBe(
      "gsv-no-such-program, or the folder cwd, was not found; give the whole path, or set PATH in env",
    );
    expect(server("ends")?.error).toBe("it ended at its start (exit 7)");
    expect(state().faults).toEqual([
      "far: it has an address; add it to the gateway (`gsv mcp add`)",
      expect.stringContaining("strange: command: "),
    ]);
    const waits = lines.flatMap((line) => /mcp ends: .*again in (\d+) ms/.exec(line)?.[1] ?? []);
    expect(waits.slice(0, 2)).toEqual(["500", "1000"]);
  });
});
