import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  admitAnonymous,
  countAnonymousFrame,
  dropAnonymous,
  openAnonymous,
} from "../../shared/peers/anonymous-sockets.ts";
import { cancelCalls } from "../../shared/peers/cancel-calls.ts";
import { chooseNode } from "../../shared/peers/nodes.ts";
import { claimId, releaseNodesOf } from "../../shared/peers/peer-ids.ts";
import {
  bindPeer,
  type ConnectionRecord,
  countFrame,
  dropConnection,
  forgetNode,
  forgetPeer,
  listNodes,
  listPeers,
  openConnection,
  type PeerRecord,
  readConnection,
  readPeer,
} from "../../shared/peers/registry.ts";
import { createToken, revokeToken } from "../../shared/peers/tokens.ts";
import { cancelCapability, eventFrame } from "../../shared/protocol/frames.ts";
import type { Sockets, Table } from "../../shared/world/world.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let table: Table;
let tokenId: string;
beforeAll(async () => {
  state = await startState();
  table = state.table;
  tokenId = (await createToken(table, { name: "nodes", scopes: ["node"] }, now)).id;
});
afterAll(() => state?.close());

const now = Date.now();
const connection = (connectionId: string, openedAt: number): ConnectionRecord => ({
  connectionId,
  openedAt,
  frames: 0,
  tokenId,
  scopes: ["node"],
});
const peer = (id: string, connectionId: string): PeerRecord => ({
  id,
  mode: "node",
  connectionId,
  tokenId,
  connectedAt: now,
  version: "0",
  platform: "test",
});
const bind = (id: string, opened: ConnectionRecord) => bindPeer(table, opened, peer(id, opened.connectionId));

describe("a peer's connection", () => {
  it("is the newest one, and reports the one that it replaces", async () => {
    const [first, second] = [connection("first", now), connection("second", now + 1)];
    await openConnection(table, first);
    expect(await bind("laptop", first)).toEqual({ replaced: undefined });
    await openConnection(table, second);
    expect(await bind("laptop", second)).toEqual({ replaced: "first" });
    expect((await readPeer(table, "node", "laptop", now))?.connectionId).toBe("second");
    expect(await dropConnection(table, "first")).toEqual({ mode: "node", id: "laptop" });
    expect((await readPeer(table, "node", "laptop", now))?.connectionId).toBe("second");
    expect(await dropConnection(table, "second")).toEqual({ mode: "node", id: "laptop" });
    expect(await readPeer(table, "node", "laptop", now)).toBeUndefined();
    expect(await dropConnection(table, "second")).toBeUndefined();
  });

  it("is removed when its socket is found gone, and the socket's end still names it", async () => {
    const gone = connection("gone", now);
    await openConnection(table, gone);
    await bind("server", gone);
    await forgetPeer(table, "gone", now);
    expect(await readPeer(table, "node", "server", now)).toBeUndefined();
    expect(await dropConnection(table, "gone")).toEqual({ mode: "node", id: "server" });
  });

  it("of a node is kept as disconnected, until it connects again or is forgotten", async () => {
    const left = connection("left", now);
    await openConnection(table, left);
    await bind("pi", left);
    await dropConnection(table, "left", now + 5);
    const known = async () => (await listNodes(table, now + 10)).filter(({ id }) => id === "pi");
    expect(await readPeer(table, "node", "pi", now)).toBeUndefined();
    expect(await known()).toMatchObject([{ leftAt: now + 5 }]);
    const back = connection("back", now + 20);
    await openConnection(table, back);
    expect(await bind("pi", back)).toEqual({ replaced: undefined });
    expect((await known()).map(({ leftAt }) => leftAt)).toEqual([undefined]);
    await forgetNode(table, { id: "pi", connectionId: "left" });
    expect(await known()).toHaveLength(1);
    await dropConnection(table, "back", now + 30);
    await forgetNode(table, { id: "pi", connectionId: "back" });
    expect(await known()).toEqual([]);
  });

  it("is not created for a socket that ended while connecting, and nothing of it is left", async () => {
    const ended = connection("ended", now);
    await openConnection(table, ended);
    await dropConnection(table, "ended");
    expect(await bind("vanished", ended)).toBe(false);
    expect(await readConnection(table, "ended", now)).toBeUndefined();
    expect(await table.get({ pk: "CONN#ended", sk: "META" })).toBeUndefined();
    expect(await readPeer(table, "node", "vanished", now)).toBeUndefined();
  });

  it("stays when an older socket of the same peer connects late", async () => {
    const [older, newer] = [connection("older", now), connection("newer", now + 500)];
    await openConnection(table, older);
    await openConnection(table, newer);
    expect(await bind("slow", newer)).toEqual({ replaced: undefined });
    expect(await bind("slow", older)).toBe("superseded");
    expect((await readPeer(table, "node", "slow", now))?.connectionId).toBe("newer");
  });

  it("has the token, scopes and capabilities of its connect", async () => {
    await openConnection(table, { connectionId: "late", openedAt: now });
    const shown = {
      tokenId,
      scopes: ["channel" as const],
      capabilities: ["payload-ref"],
      channel: "slack",
      accountId: "team",
    };
    await bindPeer(table, { connectionId: "late", openedAt: now, ...shown }, peer("late", "late"));
    expect(await readConnection(table, "late", now)).toMatchObject({
      ...shown,
      mode: "node",
      peerId: "late",
    });
  });

  it("may be bound twice, as the SDK does after a lost response", async () => {
    const repeated = connection("repeated", now);
    await openConnection(table, repeated);
    await bind("again", repeated);
    expect(await bind("again", repeated)).toEqual({ replaced: undefined });
  });
});

describe("the records of a peer in the table", () => {
  const seconds = Math.floor(now / 1000);
  const connectionSeconds = 2 * 3600 + 600;

  it("expire: a socket after two hours and ten minutes, a client's id and a revoked token after 30 days", async () => {
    const opened = connection("left", now);
    const { id } = await createToken(table, { name: "left", scopes: ["node"] }, now);
    await openAnonymous(table, { connectionId: "nobody", openedAt: now });
    await openConnection(table, opened);
    await bindPeer(table, opened, { ...peer("left", "left"), tokenId: id });
    await claimId(table, { mode: "client", id: "left" }, id, now);
    await claimId(table, { mode: "node", id: "left" }, id, now);
    await revokeToken(table, id, now);
    const expiry = async (pk: string, sk: string) => {
      const { expiresAt } = (await table.get({ pk, sk })) ?? {};
      return expiresAt === undefined ? undefined : Number(expiresAt) - seconds;
    };
    expect({
      anonymous: await expiry(`ANON#${Math.floor(now / 10_000)}`, "nobody"),
      connection: await expiry("CONN#left", "META"),
      peer: await expiry("PEER#node", "left"),
      clientId: await expiry("ID#client", "left"),
      nodeId: await expiry("ID#node", "left"),
      revoked: await expiry("TOKEN", id),
      mark: await expiry("PEER#node", `#revoked#${id}`),
    }).toEqual({
      ...{ anonymous: connectionSeconds, connection: connectionSeconds, peer: connectionSeconds },
      ...{
        clientId: 30 * 86_400,
        nodeId: undefined,
        revoked: 30 * 86_400,
        mark: 30 * 86_400 + connectionSeconds,
      },
    });
    expect(await readPeer(table, "node", "left", now)).toBeUndefined();
    expect(await readConnection(table, "left", now + connectionSeconds * 1000)).toBeUndefined();
    const present = async (at: number) => (await listPeers(table, "node", at)).map((one) => one.id);
    await openConnection(table, connection("stays", now));
    await bind("stays", connection("stays", now));
    expect(await present(now)).toEqual(["again", "late", "slow", "stays"]);
    expect(await present((seconds + connectionSeconds) * 1000)).toEqual([]);
  });
});

describe("a socket that has ended", () => {
  it.each([false, true])("counts no frame and is not admitted; anonymous: %s", async (isAnonymous) => {
    const record = connection(`over-${isAnonymous}`, now);
    await openAnonymous(table, record);
    await dropAnonymous(table, record);
    const { connectionId } = record;
    expect(
      await (isAnonymous ? countAnonymousFrame(table, record) : countFrame(table, connectionId)),
    ).toBeUndefined();
    expect(await admitAnonymous(table, record)).toBe(false);
    expect(await readConnection(table, connectionId, now)).toBeUndefined();
  });

  it.each<[string, (failing: Table) => Promise<unknown>]>([
    ["its frames are counted", (failing) => countFrame(failing, "x")],
    [
      "its frames are counted, without a token",
      (failing) => countAnonymousFrame(failing, connection("x", now)),
    ],
    ["a peer is bound to it", (failing) => bindPeer(failing, connection("x", now), peer("x", "x"))],
    [
      "the peer is stored",
      (failing) => bindPeer({ ...failing, update: async () => ({}) }, connection("x", now), peer("x", "x")),
    ],
  ])("is not confused with a failure of the table: %s", async (_, use) => {
    const fail = () => Promise.reject(new Error("throttled"));
    await expect(use({ ...table, update: fail, put: fail })).rejects.toThrow("throttled");
  });
});

describe("the node of a call", () => {
  const [a, b] = [peer("a", "1"), peer("b", "2")];

  it("is the given one, or the only one when none is given", () => {
    expect(chooseNode([a, b], "b")).toBe(b);
    expect(chooseNode([a], undefined)).toBe(a);
  });

  it.each([
    ["nobody", [], undefined, { code: 503, retryable: true, message: "no node is connected" }],
    ["another", [a], "b", { code: 503, retryable: true, message: "node not connected: b" }],
    [
      "two",
      [a, b],
      undefined,
      { code: 400, message: "nodeId: several nodes are connected (a, b); name one" },
    ],
  ])("does not exist when %s is connected", (_, nodes, id, error) => {
    expect(() => chooseNode(nodes, id)).toThrow(expect.objectContaining(error));
  });
});

describe("calls that nobody waits for", () => {
  const calls = ["new", "old", "gone", "failing", "away"].map((id) => ({
    nodeId: id,
    callId: `call of ${id}`,
  }));
  const nodes = calls.slice(0, 4).map(({ nodeId }) => ({
    ...peer(nodeId, nodeId),
    ...(nodeId === "old" ? {} : { capabilities: [cancelCapability] }),
  }));

  it("are cancelled at nodes with the capability, and a failing node does not affect the others", async () => {
    const posted: unknown[] = [];
    const post: Sockets["post"] = async (connectionId, frame) => {
      posted.push(connectionId, frame);
      if (connectionId === "failing") throw new Error("API Gateway is not itself");
      return connectionId === "gone" ? "gone" : "sent";
    };
    const told = await cancelCalls({ sockets: { post, close: async () => {} } }, async () => nodes, calls);
    expect([...told]).toEqual(["call of new"]);
    const cancelled = ["new", "gone", "failing"].flatMap((id) => [
      id,
      eventFrame("tool.cancel", { callId: `call of ${id}` }),
    ]);
    expect(posted).toEqual(cancelled);
  });

  it("cost nothing when there are none", async () => {
    const nodesOf = vi.fn(async () => []);
    const sockets = { post: async () => "sent" as const, close: async () => {} };
    expect((await cancelCalls({ sockets }, nodesOf, [])).size).toBe(0);
    expect(nodesOf).not.toHaveBeenCalled();
  });

  it("are given up when the nodes cannot be read", async () => {
    const sockets = { post: async () => "sent" as const, close: async () => {} };
    const failing = () => Promise.reject(new Error("throttled"));
    expect((await cancelCalls({ sockets }, failing, calls)).size).toBe(0);
  });
});

describe("the ids of a token's nodes", () => {
  it("are released together, and those of another token are not", async () => {
    const claim = (id: string, holder: string) => claimId(table, { mode: "node", id }, holder, now);
    await claim("mine", tokenId);
    await claim("theirs", "other");
    await releaseNodesOf(table, tokenId);
    await claim("mine", "third");
    await expect(claim("theirs", "third")).rejects.toMatchObject({ code: 409 });
  });
});
