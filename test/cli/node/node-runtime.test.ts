import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type NodeOptions, type RunningNode, startNode } from "../../../cli/node/node-runtime.ts";
import { until } from "../../support/until.ts";
import { startTestGateway, type TestGateway } from "../test-gateway.ts";
import { processesNamed, uniqueSleep, withEmptyHome } from "./processes.ts";

withEmptyHome();

let gateway: TestGateway;
let workspace: string;
let lines: string[];
const nodes: RunningNode[] = [];

beforeEach(async () => {
  gateway = await startTestGateway();
  workspace = mkdtempSync(join(tmpdir(), "gsv-runtime-"));
  lines = [];
});

afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop();
  await gateway.stop();
  rmSync(workspace, { recursive: true, force: true });
});

async function nodeOf(options: Partial<NodeOptions> = {}): Promise<RunningNode> {
  const node = startNode({
    url: gateway.url,
    token: "secret-token",
    nodeId: "laptop",
    workspace,
    version: "0.1.0",
    onLog: (line) => lines.push(line),
    ...options,
    timing: { backoffMinMs: 1, backoffMaxMs: 20, ...options.timing },
  });
  nodes.push(node);
  await node.connection.open();
  return node;
}

const invoke = (callId: string, tool: string, args: unknown): void =>
  gateway.sendEvent("tool.invoke", { callId, tool, args });

const resultsOf = (callId: string): Record<string, unknown>[] =>
  gateway
    .of("tool.result")
    .filter(({ params }) => params.callId === callId)
    .map(({ params }) => params);

const firstResult = (callId: string): Promise<Record<string, unknown>> =>
  until(() => resultsOf(callId)[0], `a result of ${callId}`);

/** A command that counts its runs in a file of the workspace. */
const countRuns = (name: string): string => `echo run >> ${name}`;
const runs = (name: string): number => readFileSync(join(workspace, name), "utf8").split("\n").length - 1;

describe("a node", () => {
  it("announces its tools and the capabilities of its host", async () => {
    await nodeOf();
    const { params } = gateway.of("connect")[0]!;
    expect(params).toMatchObject({
      client: { id: "laptop", mode: "node", version: "0.1.0", platform: process.platform },
      auth: { token: "secret-token" },
      nodeRuntime: {
        hostRole: "execution",
        hostOs: process.platform,
        toolCapabilities: { Bash: ["shell.exec"] },
      },
    });
    expect((params.tools as { name: string }[]).map((tool) => tool.name)).toContain("Grep");
  });

  it("refuses to start in a folder that does not exist", () => {
    const start = () =>
      startNode({ url: gateway.url, nodeId: "n", workspace: join(workspace, "no"), version: "0" });
    expect(start).toThrow(`the workspace is not a folder: ${join(workspace, "no")}`);
  });

  it("runs calls concurrently and answers each with its result or its error", async () => {
    await nodeOf();
    writeFileSync(join(workspace, "a.txt"), "hello");
    invoke("waiting", "Bash", { command: "until [ -e go ]; do sleep 0.02; done; echo went" });
    invoke("read", "Read", { path: "a.txt" });
    invoke("bad", "Read", { path: "b.txt" });
    invoke("unknown", "Fly", {});
    expect(await firstResult("read")).toMatchObject({ result: { content: "1\thello", lines: 1 } });
    expect(await firstResult("bad")).toEqual({
      callId: "bad",
      error: `Read: ${join(workspace, "b.txt")}: no such file or folder`,
    });
    expect((await firstResult("unknown")).error).toContain("this node has no tool Fly; it has Bash,");
    expect(resultsOf("waiting")).toEqual([]);
    invoke("go", "Write", { path: "go", content: "" });
    expect(await firstResult("waiting")).toMatchObject({ result: { status: "completed", output: "went\n" } });
  });

  it("delivers a result after a reconnect", async () => {
    const node = await nodeOf();
    invoke("call", "Bash", { command: "until [ -e go ]; do sleep 0.02; done; echo went" });
    await until(() => lines.some((line) => line.includes("call call Bash started")), "it runs");
    gateway.refuseWith = 503;
    gateway.sockets[0]!.terminate();
    await until(() => node.connection.state.status === "waiting", "it is away");
    writeFileSync(join(workspace, "go"), "");
    await until(() => lines.some((line) => line.includes("call call Bash done")), "it is over");
    expect(resultsOf("call")).toEqual([]);
    gateway.refuseWith = undefined;
    expect(await firstResult("call")).toMatchObject({ callId: "call", result: { output: "went\n" } });
  });

  it("resends a result under the same callId until it is acknowledged", async () => {
    let answers = 0;
    gateway.answer = ({ method }) => {
      if (method !== "tool.result") return undefined;
      answers++;
      if (answers === 1) return "silence";
      if (answers === 2) return { error: { code: 500, message: "internal error", retryable: true } };
      return { payload: { ok: true } };
    };
    await nodeOf();
    invoke("call", "Bash", { command: countRuns("count") });
    await firstResult("call");
    gateway.sockets[0]!.terminate();
    await until(() => resultsOf("call").length === 3, "it is sent three times");
    await until(() => lines.some((line) => line.includes("delivered result of call")), "it is acknowledged");
    gateway.sockets.at(-1)!.terminate();
    await until(() => gateway.of("connect").length === 3, "it is back");
    invoke("after", "Read", { path: "count" });
    await firstResult("after");
    expect(new Set(resultsOf("call").map((params) => JSON.stringify(params))).size).toBe(1);
    expect(resultsOf("call")).toHaveLength(3);
    expect(runs("count")).toBe(1);
  });

  it("resends a result when its acknowledgement is late", async () => {
    gateway.answer = ({ method }) =>
      method === "tool.result" && resultsOf("call").length === 1 ? "silence" : undefined;
    await nodeOf({ timing: { deliveryMs: 30 } });
    invoke("call", "Bash", { command: "true" });
    await until(() => resultsOf("call").length === 2, "it is sent again");
  });

  it("drops a result that the gateway refuses", async () => {
    gateway.answer = ({ method }) =>
      method === "tool.result" ? { error: { code: 404, message: "unknown call" } } : undefined;
    await nodeOf();
    invoke("call", "Bash", { command: "true" });
    await until(
      () => lines.some((line) => line.includes("refused result of call: 404 unknown call")),
      "refused",
    );
    gateway.sockets[0]!.terminate();
    await until(() => gateway.of("connect").length === 2, "it is back");
    invoke("other", "Bash", { command: "true" });
    await firstResult("other");
    expect(resultsOf("call")).toHaveLength(1);
  });

  it("runs a repeated call once, and repeats the result of a finished call", async () => {
    await nodeOf();
    const args = { command: `${countRuns("count")}; until [ -e go ]; do sleep 0.02; done` };
    invoke("call", "Bash", args);
    invoke("call", "Bash", args);
    await until(() => existsSync(join(workspace, "count")), "it runs");
    gateway.sockets[0]!.terminate();
    await until(() => gateway.of("connect").length === 2, "it is back");
    invoke("call", "Bash", args);
    writeFileSync(join(workspace, "go"), "");
    const first = await firstResult("call");
    await until(() => lines.some((line) => line.includes("delivered result of call")), "it is acknowledged");
    invoke("call", "Bash", args);
    await until(() => resultsOf("call").length === 2, "the result is repeated");
    expect(resultsOf("call")[1]).toEqual(first);
    expect(runs("count")).toBe(1);
  });

  it("announces that it can cancel calls, and does not run a call that was cancelled before it arrived", async () => {
    await nodeOf();
    expect(gateway.of("connect")[0]?.params.capabilities).toContain("tool.cancel");
    gateway.sendEvent("tool.cancel", { callId: "call" });
    invoke("call", "Bash", { command: countRuns("count") });
    expect(await firstResult("call")).toEqual({
      callId: "call",
      error: "not run: the call was cancelled before it began",
    });
    expect(existsSync(join(workspace, "count"))).toBe(false);
  });

  it("ignores an event with an invalid payload", async () => {
    await nodeOf();
    for (const payload of [null, "x", { callId: 1, tool: "Bash" }, { tool: "Bash" }]) {
      gateway.sendEvent("tool.invoke", payload);
      gateway.sendEvent("tool.cancel", { callId: 1 });
      gateway.sendEvent("tool.cancel", null);
      gateway.sendEvent("logs.get", payload);
      gateway.sendEvent("node.probe", payload);
    }
    invoke("call", "Bash", { command: "true" });
    await firstResult("call");
    expect(gateway.of("tool.result")).toHaveLength(1);
  });

  it("shortens a result that does not fit into a frame, and marks it", async () => {
    await nodeOf();
    invoke("call", "Bash", { command: "head -c 1000000 /dev/zero | tr '\\0' '\\033'" });
    const { result } = (await firstResult("call")) as { result: Record<string, unknown> };
    expect(result).toMatchObject({ status: "completed", exitCode: 0, truncated: true });
    expect(String(result.output)).toContain("characters left out here");
    expect(gateway.sockets).toHaveLength(1);
  });

  it("reports how a background command ended, even if the gateway does not know the event", async () => {
    gateway.answer = ({ method }) =>
      method === "node.exec.event" ? { error: { code: 404, message: "unknown method" } } : undefined;
    await nodeOf();
    invoke("good", "Bash", { command: "read line; echo out", background: true });
    invoke("late", "Bash", { command: "read line", background: true, timeout: 1500 });
    const { result } = (await firstResult("good")) as { result: { sessionId: string } };
    invoke("submit", "Process", { action: "submit", sessionId: result.sessionId });
    const events = await until(() => {
      const seen = gateway.of("node.exec.event").map(({ params }) => params);
      return seen.length === 2 && seen;
    }, "both ends");
    expect(events.find((event) => event.callId === "good")).toEqual({
      eventId: expect.any(String),
      sessionId: result.sessionId,
      event: "finished",
      callId: "good",
      exitCode: 0,
      outputTail: "out\n",
      startedAt: expect.any(Number),
      endedAt: expect.any(Number),
    });
    expect(events.find((event) => event.callId === "late")).toMatchObject({
      event: "timed_out",
      signal: "SIGTERM",
    });
    invoke("after", "Bash", { command: "true" });
    await firstResult("after");
  });

  it("returns its log on request, without arguments and results", async () => {
    await nodeOf();
    invoke("call", "Bash", { command: "echo very-private" });
    await firstResult("call");
    gateway.sendEvent("logs.get", { callId: "logs", lines: 3 });
    const { params } = await until(() => gateway.of("logs.result")[0], "logs");
    expect(params).toMatchObject({ callId: "logs", truncated: false });
    expect(params.lines).toHaveLength(3);
    expect(String(params.lines)).toContain("call call Bash done after");
    expect(lines.join("\n")).not.toMatch(/very-private|secret-token/);
  });

  it("reports which programs its shell finds", async () => {
    await nodeOf();
    gateway.sendEvent("node.probe", {
      probeId: "p1",
      kind: "bins",
      bins: [
        "sh",
        "no-such-program-here",
        "g++-0",
        "--version",
        "-rf; echo x",
        "$(touch gsv-bin)",
        "sh\nsh",
        "/bin/sh",
      ],
    });
    gateway.sendEvent("node.probe", { probeId: "p2", kind: "bins", bins: Array(1001).fill("sh") });
    gateway.sendEvent("node.probe", { probeId: "p3", kind: "weather", bins: [] });
    const answers = await until(() => {
      const seen = gateway.of("node.probe.result").map(({ params }) => params);
      return seen.length === 3 && seen;
    }, "answers");
    const answer = (probeId: string) => answers.find((candidate) => candidate.probeId === probeId);
    expect(answer("p1")).toEqual({
      probeId: "p1",
      ok: true,
      bins: {
        sh: true,
        "no-such-program-here": false,
        "g++-0": false,
        "--version": false,
        "-rf; echo x": false,
        "$(touch gsv-bin)": false,
        "sh\nsh": false,
        "/bin/sh": false,
      },
    });
    expect(answer("p2")).toEqual({
      probeId: "p2",
      ok: false,
      error: "more than 1000 programs in one probe",
    });
    expect(answer("p3")).toMatchObject({ ok: false, error: "only probes of kind bins are supported" });
  });

  it("renews its registration with tools.list", async () => {
    await nodeOf({ timing: { keepaliveMs: 10 } });
    await until(() => gateway.of("tools.list").length >= 2, "keepalives");
  });

  it("stops with the reason when the gateway refuses it", async () => {
    gateway.refuseWith = 401;
    const node = startNode({ url: gateway.url, nodeId: "n", workspace, version: "0", token: "secret-token" });
    const error = await node.ended;
    expect(error).toMatchObject({ code: 401 });
    expect(gateway.upgrades).toHaveLength(1);
  });

  it("kills its commands when it stops, and still reports how they ended", async () => {
    const node = await nodeOf();
    const sleep = uniqueSleep();
    invoke("call", "Bash", { command: `${sleep}; true` });
    invoke("back", "Bash", { command: `${sleep}; true`, background: true });
    await firstResult("back");
    await until(() => processesNamed(sleep).length >= 2, "both run");
    await node.stop();
    expect(await node.ended).toBeUndefined();
    expect(resultsOf("call")[0]).toMatchObject({ result: { status: "failed", signal: "SIGTERM" } });
    expect(gateway.of("node.exec.event")[0]?.params).toMatchObject({ callId: "back", event: "failed" });
    await until(() => processesNamed(sleep).length === 0, "the group is gone");
  });

  it("leaves no command running when its process exits without stopping it", async () => {
    const script = `
      import { startNode } from ${JSON.stringify(join(import.meta.dirname, "../../../cli/node/node-runtime.ts"))};
      startNode({ url: ${JSON.stringify(gateway.url)}, nodeId: "n", workspace: ${JSON.stringify(workspace)}, version: "0" });
      process.stdin.on("end", () => process.exit(0)).resume();
    `;
    writeFileSync(join(workspace, "node.mts"), script);
    const child = spawn(
      process.execPath,
      ["--import", import.meta.resolve("tsx"), join(workspace, "node.mts")],
      {
        stdio: ["pipe", "ignore", "inherit"],
      },
    );
    await until(() => gateway.of("connect").length === 1, "it connects");
    const sleep = uniqueSleep();
    invoke("call", "Bash", { command: `${sleep} & wait` });
    await until(() => processesNamed(sleep).length > 0, "it runs");
    child.stdin.end();
    await until(() => child.exitCode !== null, "the node's process exits");
    await until(() => processesNamed(sleep).length === 0, "the group is gone");
  });
});
