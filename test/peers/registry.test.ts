import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  bindPeer,
  type ConnectionRecord,
  dropConnection,
  forgetPeer,
  openConnection,
  type PeerRecord,
  readConnection,
  readPeer,
} from "../../shared/peers/registry.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import type { Table } from "../../shared/world/world.ts";
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
  it("is the newest one, and names the one that it replaces", async () => {
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

  it("is forgotten when its socket is found gone, and the end of the socket still names it", async () => {
    const gone = connection("gone", now);
    await openConnection(table, gone);
    await bind("server", gone);
    await forgetPeer(table, "gone");
    expect(await readPeer(table, "node", "server", now)).toBeUndefined();
    expect(await dropConnection(table, "gone")).toEqual({ mode: "node", id: "server" });
  });

  it("is not made of a socket that has ended while it connected, and nothing is left of that", async () => {
    const ended = connection("ended", now);
    await openConnection(table, ended);
    await dropConnection(table, "ended");
    expect(await bind("vanished", ended)).toBe(false);
    expect(await readConnection(table, "ended", now)).toBeUndefined();
    expect(await table.get({ pk: "CONN#ended", sk: "META" })).toBeUndefined();
    expect(await readPeer(table, "node", "vanished", now)).toBeUndefined();
  });

  it("stays when an older socket of the same peer is slow to connect", async () => {
    const [older, newer] = [connection("older", now), connection("newer", now + 500)];
    await openConnection(table, older);
    await openConnection(table, newer);
    expect(await bind("slow", newer)).toEqual({ replaced: undefined });
    expect(await bind("slow", older)).toBe("superseded");
    expect((await readPeer(table, "node", "slow", now))?.connectionId).toBe("newer");
  });

  it("may be bound twice, as the SDK does when the answer was lost", async () => {
    const repeated = connection("repeated", now);
    await openConnection(table, repeated);
    await bind("again", repeated);
    expect(await bind("again", repeated)).toEqual({ replaced: undefined });
  });
});
