import { afterEach, beforeEach, expect, it } from "vitest";
import { listPeers } from "../../shared/peers/registry.ts";
import { adminTokenMs } from "../../shared/peers/tokens.ts";
import type { HelloOk } from "../../shared/protocol/results.ts";
import type { ListedToken } from "../../shared/protocol/token-results.ts";
import { clientParams, nodeParams } from "../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { standingAdmin } from "../support/standing-admin.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let world: SocketWorld;
let socket: SocketFunction;
beforeEach(async () => {
  state = await startState();
  world = openSocketWorld(state);
  socket = world.start();
});
afterEach(() => state.close());

async function connect(connectionId: string, token: string, params: object = clientParams(connectionId)) {
  await socket.open(connectionId, token);
  const connected = await socket.request(connectionId, "connect", params);
  expect(connected).toMatchObject({ ok: true });
  return connected as unknown as { payload: HelloOk };
}

it("token.list shows the tokens in use, even if their connections are old", async () => {
  const laptop = await world.token(["client", "node"]);
  const unused = await world.token(["client"]);
  await connect("screen", laptop.token);
  await connect("machine", laptop.token);
  world.clock.later += 40 * 60_000;
  const owner = await world.token(["admin"]);
  await connect("owner", owner.token);
  const listed = async () => {
    const answer = await socket.request("owner", "token.list");
    const { tokens } = (answer as unknown as { payload: { tokens: ListedToken[] } }).payload;
    return Object.fromEntries(tokens.map(({ id, connections }) => [id, connections]));
  };
  expect(await listed()).toEqual({ [owner.id]: 1, [laptop.id]: 2, [unused.id]: 0 });
  await socket.end("screen");
  expect(await listed()).toMatchObject({ [laptop.id]: 1 });
});

it("an admin's token and its connection end after 15 minutes", async () => {
  const { token } = await world.token(["admin"]);
  expect((await connect("owner", token)).payload.scopes).toEqual(["admin"]);
  world.clock.later += adminTokenMs - 1000;
  expect(await socket.request("owner", "token.list")).toMatchObject({ ok: true });
  world.clock.later += 1000;
  expect(await listPeers(state.table, "client", world.now())).toEqual([]);
  expect(await socket.request("owner", "token.list")).toMatchObject({ ok: false, error: { code: 401 } });
  expect(world.isClosed("owner")).toBe(true);
  expect(await socket.open("again", token)).toBe(401);
});

it("a refused client learns which scope the method needs", async () => {
  await connect("phone", (await world.token(["client", "approve"])).token);
  expect(await socket.request("phone", "token.create", { name: "mine" })).toMatchObject({
    error: { code: 403, details: { scope: "admin" } },
  });
});

it("token.standing lists to each client the lasting admin tokens older than an hour, with their nodes", async () => {
  const hourAgo = world.now() - 3_600_000;
  const old = await standingAdmin(state.table, ["client", "node", "admin"], hourAgo);
  await standingAdmin(state.table, ["admin"], hourAgo + 60_000);
  await world.token(["admin"]);
  await connect("laptop", old.token, nodeParams("laptop", ["Bash"]));
  await connect("phone", (await world.token(["client"])).token);
  const answer = await socket.request("phone", "token.standing");
  expect(answer).toMatchObject({ ok: true, payload: { tokens: [{ id: old.id, nodes: ["laptop"] }] } });
  expect(JSON.stringify(answer)).not.toContain("hash");
  world.clock.later += 60_000;
  expect(await socket.request("phone", "token.standing")).toHaveProperty("payload.tokens.length", 2);
});
