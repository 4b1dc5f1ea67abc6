import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startUnderFreeId } from "../../../cli/node/free-id.ts";
import { type NodeOptions, type RunningNode, startNode } from "../../../cli/node/node-runtime.ts";
import { newFolder } from "../../support/run/test-folders.ts";
import { until } from "../../support/until.ts";
import { type Answer, startTestGateway, type TestGateway } from "../test-gateway.ts";
import { withEmptyHome } from "./processes.ts";

withEmptyHome();

let gateway: TestGateway;
const nodes: RunningNode[] = [];
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop();
  await gateway.stop();
});

const options = (): NodeOptions => ({
  url: gateway.url,
  nodeId: "laptop",
  workspace: newFolder(),
  version: "0",
  timing: { backoffMinMs: 1, backoffMaxMs: 5, reclaimMs: 1 },
});
const taken = (alive: boolean): Answer => ({
  error: { code: 409, message: "taken", retryable: true, details: { taken: true, alive, retryAfterMs: 1 } },
});
const idOf = (params: Record<string, unknown>) => (params.client as { id: string }).id;
const ids = () => gateway.of("connect").map(({ params }) => idOf(params));

describe("a node under its default id", () => {
  it("uses the next number when a running process uses the id, and prints it", async () => {
    gateway.answer = ({ method, params }) =>
      method === "connect" && !idOf(params).endsWith("-3") ? taken(true) : undefined;
    const said: string[][] = [];
    const node = await startUnderFreeId(options(), (...ids) => said.push(ids));
    nodes.push(node);
    expect(node.nodeId).toBe("laptop-3");
    expect(node.connection.state.status).toBe("connected");
    expect(said).toEqual([
      ["laptop", "laptop-2"],
      ["laptop-2", "laptop-3"],
    ]);
  });

  it("waits while the gateway probes the other process, and keeps the id when that does not answer", async () => {
    let asked = 0;
    gateway.answer = ({ method }) => (method === "connect" && ++asked < 4 ? taken(false) : undefined);
    const node = await startUnderFreeId(options(), () => {});
    nodes.push(node);
    expect(node.nodeId).toBe("laptop");
    expect(ids()).toEqual(["laptop", "laptop", "laptop", "laptop"]);
  });
});

describe("a node under a chosen id", () => {
  it("fails with the gateway's reason when a running process uses it", async () => {
    gateway.answer = ({ method }) => (method === "connect" ? taken(true) : undefined);
    const node = startNode(options());
    expect(await node.ended).toMatchObject({ code: 409, message: expect.stringContaining("taken") });
    expect(ids()).toEqual(["laptop"]);
  });

  it("waits, as a service, until the other process is gone", async () => {
    let asked = 0;
    gateway.answer = ({ method }) => (method === "connect" && ++asked < 4 ? taken(true) : undefined);
    const node = startNode({ ...options(), waitsForPlace: true });
    nodes.push(node);
    await node.connection.open();
    expect(ids()).toHaveLength(4);
  });
});

describe("a connected node", () => {
  it("answers a ping when another process requests its id", async () => {
    const node = startNode(options());
    nodes.push(node);
    await node.connection.open();
    gateway.sendEvent("node.ping", {});
    await until(() => gateway.of("node.pong")[0], "the answer");
  });

  it("reclaims its id from another process, and identifies itself as the same process", async () => {
    const node = startNode(options());
    nodes.push(node);
    await node.connection.open();
    gateway.sendEvent("connection.ended", { reason: "superseded" });
    await until(() => ids().length === 2 || undefined, "it connects again");
    const [first, second] = gateway.of("connect").map(({ params }) => params.client as { instance: string });
    expect(first?.instance).toMatch(/^[0-9a-f-]{36}$/);
    expect(second?.instance).toBe(first?.instance);
  });
});
