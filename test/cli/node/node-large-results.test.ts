import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type RunningNode, startNode } from "../../../cli/node/node-runtime.ts";
import { until } from "../../support/until.ts";
import { type StorageServer, startStorage } from "../gateway/storage-server.ts";
import { hello, startTestGateway, type TestGateway } from "../test-gateway.ts";
import { withEmptyHome } from "./processes.ts";

withEmptyHome();

let gateway: TestGateway;
let storage: StorageServer;
let workspace: string;
let node: RunningNode;

/** 200,000 characters of output, the max of a command's result. */
const command = "head -c 200000 /dev/zero | tr '\\0' x";

beforeEach(async () => {
  storage = await startStorage();
  gateway = await startTestGateway();
  gateway.answer = ({ method }) => {
    if (method === "connect")
      return { payload: { ...hello, features: { methods: ["payload.upload"], events: [] } } };
    return method === "payload.upload" ? { payload: { ref: "ref", url: storage.url("upload") } } : undefined;
  };
  workspace = mkdtempSync(join(tmpdir(), "gsv-large-"));
  node = startNode({ url: gateway.url, nodeId: "laptop", workspace, version: "0" });
  await node.connection.open();
});

afterEach(async () => {
  await node.stop();
  await gateway.stop();
  await storage.close();
  rmSync(workspace, { recursive: true, force: true });
});

describe("a result that is too large for a frame", () => {
  it("is uploaded whole when the gateway accepts it by reference", async () => {
    gateway.sendEvent("tool.invoke", { callId: "c", tool: "Bash", args: { command } });
    const request = await until(() => gateway.of("tool.result")[0], "the result comes");
    expect(request).toMatchObject({ paramsRef: "ref" });
    const { callId, result } = JSON.parse(storage.objects.get("upload") ?? "");
    expect(callId).toBe("c");
    expect(result).toMatchObject({ exitCode: 0, truncated: false, output: "x".repeat(200_000) });
  });

  it("is shortened and marked when the storage refuses it", async () => {
    storage.faults = [403];
    gateway.sendEvent("tool.invoke", { callId: "c", tool: "Bash", args: { command } });
    const { params } = await until(() => gateway.of("tool.result")[0], "the result comes");
    const { result } = params as { result: { truncated: boolean; output: string } };
    expect(result.truncated).toBe(true);
    expect(result.output).toContain("characters left out here");
    expect(gateway.of("payload.upload")).toHaveLength(1);
  });
});
