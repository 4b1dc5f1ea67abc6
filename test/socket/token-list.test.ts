import { afterEach, beforeEach, expect, it } from "vitest";
import type { ListedToken } from "../../shared/protocol/results.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
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

async function connect(connectionId: string, token: string): Promise<void> {
  await socket.open(connectionId, token);
  const client = { id: connectionId, version: "0", platform: "test", mode: "client" };
  const connected = await socket.request(connectionId, "connect", { minProtocol: 1, client });
  expect(connected).toMatchObject({ ok: true });
}

it("token.list shows the tokens in use, even if their connections are old", async () => {
  const owner = await world.token(["admin"]);
  const laptop = await world.token(["client", "node"]);
  const unused = await world.token(["client"]);
  await connect("screen", laptop.token);
  await connect("machine", laptop.token);
  world.clock.later += 40 * 60_000;
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
