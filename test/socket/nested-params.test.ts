import { beforeEach, describe, expect, it } from "vitest";
import { handleFrame } from "../../functions/socket/frame.ts";
import type { Gateway } from "../../functions/socket/gateway.ts";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { listPeers, openConnection } from "../../shared/peers/registry.ts";
import { createTokenVerifier } from "../../shared/peers/tokens.ts";
import type { Frame } from "../../shared/protocol/frames.ts";
import { maxNesting } from "../../shared/protocol/schemas.ts";
import { clientParams, nodeParams } from "../support/peer.ts";

let gateway: Gateway;
let posted: Map<string, Frame[]>;

beforeEach(() => {
  const table = createMemoryTable();
  posted = new Map();
  gateway = {
    table,
    sockets: {
      async post(connectionId: string, frame: Frame) {
        posted.set(connectionId, [...(posted.get(connectionId) ?? []), frame]);
        return "sent";
      },
      close: async () => {},
    },
    tokens: createTokenVerifier(table, Date.now),
    configuration: { load: async () => ({}) },
    connected: new Map(),
    now: Date.now,
  } as unknown as Gateway;
});

async function request(connectionId: string, id: string, method: string, params: string): Promise<unknown> {
  await handleFrame(
    gateway,
    { connectionId, openedAt: Date.now() },
    `{"type":"req","id":"${id}","method":"${method}","params":${params}}`,
  );
  return answer(connectionId, id);
}
const answer = (connectionId: string, id: string) =>
  (posted.get(connectionId) ?? []).find((frame) => frame.type === "res" && frame.id === id);

async function connect(connectionId: string, params: object): Promise<unknown> {
  const record = { connectionId, openedAt: Date.now(), tokenId: connectionId };
  await gateway.table.put({ pk: "TOKEN", sk: connectionId, hash: "00" });
  await openConnection(gateway.table, { ...record, scopes: ["client", "node"] });
  return request(connectionId, "connect", "connect", JSON.stringify(params));
}

/** JSON with this number of nested objects. */
const levels = (count: number) => `${'{"in":'.repeat(count - 1)}{}${"}".repeat(count - 1)}`;
const tooDeep = { ok: false, error: { code: 400, message: expect.stringContaining("nested deeper than") } };

describe("params that are nested", () => {
  it("reach their method up to 32 levels, and are refused above, at any depth", async () => {
    await connect("node", nodeParams("pi", ["probe"]));
    await connect("ann", clientParams("ann"));
    const invoke = (id: string, count: number) =>
      request("ann", id, "tool.invoke", `{"tool":"pi__probe","args":${levels(count)}}`);
    expect(await invoke("most", maxNesting - 1)).toBeUndefined();
    expect(JSON.stringify(posted.get("node"))).toContain(levels(maxNesting - 1));
    for (const count of [maxNesting, 1000, 15_000])
      expect(await invoke(`deep-${count}`, count)).toMatchObject(tooDeep);
  });

  it.each([
    ["up to 500 levels are passed on in a result, since a result is kept as text", 500, /^.*$/],
    ["deeper in a result end its call with an error", 15_000, /nested deeper than 500 levels/],
  ])("%s", async (_, count, told) => {
    await connect("node", nodeParams("pi", ["probe"]));
    await connect("ann", clientParams("ann"));
    await request("ann", "ask", "tool.invoke", '{"tool":"pi__probe","args":{}}');
    const event = posted.get("node")?.find(({ type }) => type === "evt") as { payload?: { callId: string } };
    const callId = event.payload?.callId;
    const result = `{"callId":"${callId}","result":${levels(count)}}`;
    expect(await request("node", "result", "tool.result", result)).toMatchObject({ ok: true });
    const answered = JSON.stringify(answer("ann", "ask"));
    expect(answered.includes(levels(count))).toBe(count <= 500);
    expect(answered).toMatch(told);
  });
});

describe("a node whose tool has an input schema that model providers refuse", () => {
  it.each([
    [{ type: "string" }, 'expected "type": "object" at the top'],
    [{ type: "object", oneOf: [] }, "oneOf at the top"],
    [{ type: "object", properties: JSON.parse(levels(26)) }, "nested deeper than 20 levels"],
  ])("is refused at connect, with the tool's name: %#", async (inputSchema, reason) => {
    const params = nodeParams("pi", ["good", "bad"]);
    const tools = params.tools.map((tool) => (tool.name === "bad" ? { ...tool, inputSchema } : tool));
    const message = expect.stringContaining(`the input schema of bad: ${reason}`);
    expect(await connect("node", { ...params, tools })).toMatchObject({
      ok: false,
      error: { code: 103, message },
    });
    expect(await listPeers(gateway.table, "node", Date.now())).toEqual([]);
  });
});
