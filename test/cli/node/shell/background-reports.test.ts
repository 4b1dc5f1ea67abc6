import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type NodeOptions, type RunningNode, startNode } from "../../../../cli/node/node-runtime.ts";
import { until } from "../../../support/until.ts";
import { startTestGateway, type TestGateway } from "../../test-gateway.ts";
import { processesNamed, uniqueSleep, withEmptyHome } from "../processes.ts";

withEmptyHome();

let gateway: TestGateway;
let folder: string;
const nodes: RunningNode[] = [];

beforeEach(async () => {
  gateway = await startTestGateway();
  folder = mkdtempSync(join(tmpdir(), "gsv-reports-"));
});
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop();
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

const journalFolder = () => join(folder, "journal");

async function nodeOf(options: Partial<NodeOptions> = {}): Promise<RunningNode> {
  const node = startNode({
    ...{ url: gateway.url, nodeId: "laptop", workspace: folder, version: "0" },
    ...{ journalFolder: journalFolder(), timing: { backoffMinMs: 1, backoffMaxMs: 20 } },
    ...options,
  });
  nodes.push(node);
  await node.connection.open();
  return node;
}

const background = (callId: string, command: string) =>
  gateway.sendEvent("tool.invoke", { callId, tool: "Bash", args: { command, background: true } });
const reports = () => gateway.of("node.exec.event").map(({ params }) => params);
const unavailable = { error: { code: 503, message: "later", retryable: true } };
const refuseReports = () => {
  gateway.answer = ({ method }) => (method === "node.exec.event" ? unavailable : undefined);
};

/** A node in a separate process, which a test may kill. */
function nodeProcess() {
  const runtime = JSON.stringify(join(import.meta.dirname, "../../../../cli/node/node-runtime.ts"));
  const options = {
    url: gateway.url,
    nodeId: "laptop",
    workspace: folder,
    version: "0",
    journalFolder: journalFolder(),
  };
  const script = `const { startNode } = await import(${runtime}); startNode(${JSON.stringify(options)});`;
  const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", script];
  return spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
}

describe("the report of a background command's end", () => {
  it("is a line of the node's log, which contains neither the command nor its output", async () => {
    const lines: string[] = [];
    await nodeOf({ onLog: (line) => lines.push(line) });
    background("one", "echo secret");
    background("two", "echo secret; exit 3");
    const said = () => lines.filter((line) => line.includes("background command")).join("\n");
    await until(() => said().split("\n").length === 2, "both are reported");
    expect(said()).toMatch(/background command [\w-]+ has ended$/m);
    expect(said()).toMatch(/background command [\w-]+ failed: exit 3$/m);
    expect(lines.join("\n")).not.toContain("secret");
  });

  it("is repeated across lost connections until it is accepted", async () => {
    refuseReports();
    await nodeOf();
    background("call", "echo out");
    await until(() => reports().length > 0, "the end is reported");
    gateway.sockets.at(-1)!.terminate();
    await until(() => reports().length > 1, "it is repeated");
    gateway.answer = () => undefined;
    gateway.sockets.at(-1)!.terminate();
    await until(() => !readdirSync(journalFolder()).some((name) => name.endsWith(".json")), "it is accepted");
    const sent = reports().length;
    gateway.sockets.at(-1)!.terminate();
    await until(() => gateway.of("connect").length === 4, "it is back");
    expect(reports()).toHaveLength(sent);
    expect(new Set(reports().map(({ eventId }) => eventId)).size).toBe(1);
  });

  it("is sent at the next start of the same node when the node was stopped before it could send it", async () => {
    refuseReports();
    const node = await nodeOf();
    background("call", "echo out");
    const [first] = await until(() => reports().length > 0 && reports(), "the end is reported");
    await node.stop();
    gateway.answer = () => undefined;
    gateway.requests.length = 0;
    const other = await nodeOf({ nodeId: "attic" });
    await other.connection.request("tools.list");
    expect(reports()).toEqual([]);
    await nodeOf();
    const [again] = await until(() => reports().length > 0 && reports(), "it is reported");
    expect(again).toEqual(first);
    expect(again).toMatchObject({ event: "finished", exitCode: 0, outputTail: "out\n", callId: "call" });
  });

  it("says after a kill of the node that the outcome is unknown, unless it was recorded", async () => {
    refuseReports();
    const child = nodeProcess();
    await until(() => gateway.of("connect").length === 1, "it connects");
    const sleep = uniqueSleep();
    background("over", "echo out");
    background("left", sleep);
    await until(() => reports().length > 0 && processesNamed(sleep).length > 0, "one ended, one runs");
    child.kill("SIGKILL");
    await until(() => child.signalCode !== null, "it is dead");
    for (const line of processesNamed(sleep)) process.kill(Number(line.trim().split(/\s+/)[0]), "SIGKILL");
    gateway.answer = () => undefined;
    gateway.requests.length = 0;
    await nodeOf();
    await until(() => reports().length === 2, "both are reported");
    const told = Object.fromEntries(
      reports().map(({ callId, event, outputTail }) => [callId, { event, outputTail }]),
    );
    expect(told).toEqual({
      over: { event: "finished", outputTail: "out\n" },
      left: { event: "failed", outputTail: expect.stringContaining("unknown; it may still be running") },
    });
    await until(
      () => !readdirSync(journalFolder()).some((name) => name.endsWith(".json")),
      "nothing is left",
    );
  });
});
