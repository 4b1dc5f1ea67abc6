import { afterAll, beforeAll, expect, it } from "vitest";
import { createSocketHandler } from "../../functions/socket/socket-handler.ts";
import { listPeers } from "../../shared/peers/registry.ts";
import { openSocketWorld, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let world: SocketWorld;
beforeAll(async () => {
  state = await startState();
  world = openSocketWorld(state);
});
afterAll(() => state.close());

async function connect(connectionId: string, token: string, id: string): Promise<void> {
  const socket = world.start();
  expect(await socket.open(connectionId, token)).toBe(200);
  const client = { id, version: "0", platform: "test", mode: "client" };
  const params = { minProtocol: 1, maxProtocol: 1, client, auth: { token } };
  expect(await socket.request(connectionId, "connect", params)).toMatchObject({ ok: true });
}

const ends = (connectionId: string) =>
  (world.posted.get(connectionId) ?? []).filter(
    (frame) => frame.type === "evt" && frame.event === "connection.ended",
  );

it("a superseded peer gets the event before its socket is closed", async () => {
  const { token } = await world.token(["client"]);
  await connect("first", token, "laptop");
  await connect("second", token, "laptop");
  expect(ends("first")).toEqual([
    { type: "evt", event: "connection.ended", payload: { reason: "superseded" } },
  ]);
  expect(world.isClosed("first")).toBe(true);
  expect(ends("second")).toEqual([]);
});

it("a peer whose token is revoked gets the event before its socket is closed", async () => {
  const owner = await world.token(["client", "admin"]);
  const guest = await world.token(["client"]);
  await connect("owner", owner.token, "owner");
  await connect("guest", guest.token, "guest");
  const answer = await world.start().request("owner", "token.revoke", { id: guest.id });
  expect(answer).toMatchObject({ ok: true });
  expect(ends("guest")).toEqual([{ type: "evt", event: "connection.ended", payload: { reason: "revoked" } }]);
  expect(world.isClosed("guest")).toBe(true);
});

it("a frame whose body chose another route is handled as a frame", async () => {
  const { token } = await world.token(["client"]);
  await connect("sly", token, "sly");
  const requestContext = { routeKey: "$disconnect", eventType: "MESSAGE", connectionId: "sly" };
  const body = JSON.stringify({ action: "$disconnect", type: "evt", event: "quiet" });
  await createSocketHandler(world.outside)({ requestContext, body } as never, {} as never);
  const peers = await listPeers(state.table, "client", world.now());
  expect(peers.map(({ id }) => id)).toContain("sly");
});
