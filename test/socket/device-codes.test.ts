import { createHash, randomInt } from "node:crypto";
import { afterEach, beforeEach, expect, it } from "vitest";
import { methodTable } from "../../functions/socket/methods/methods.ts";
import { deviceTokenMs } from "../../shared/peers/tokens.ts";
import type { ResponseFrame } from "../../shared/protocol/frames.ts";
import type { Method, Scope } from "../../shared/protocol/methods.ts";
import type { HelloOk } from "../../shared/protocol/results.ts";
import type { ListedToken, PairingCode } from "../../shared/protocol/token-results.ts";
import { clientParams, nodeParams } from "../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

/** A device gets a token for a code: `code.create`, `connect {auth: {code}}`, and the device's token. */

let state: State;
let world: SocketWorld;
let socket: SocketFunction;
let opened: number;
beforeEach(async () => {
  state = await startState();
  world = openSocketWorld(state);
  socket = world.start();
  opened = 0;
  await connect("owner", (await world.token(["client", "approve"])).token);
});
afterEach(() => state.close());

const payloadOf = <T>(answer: ResponseFrame | undefined): T => {
  expect(answer).toMatchObject({ ok: true });
  return (answer as { payload: T }).payload;
};

async function connect(connectionId: string, token: string) {
  await socket.open(connectionId, token);
  return payloadOf<HelloOk>(await socket.request(connectionId, "connect", clientParams(connectionId)));
}

const create = async (params: object = {}) =>
  payloadOf<PairingCode>(await socket.request("owner", "code.create", params));

const pairing = (connectionId: string, code: string, more: object = {}) =>
  socket.request(connectionId, "connect", { ...clientParams(connectionId), auth: { code, ...more } });

/** Tries a code on a socket of its own. */
async function pair(code: string): Promise<ResponseFrame | undefined> {
  const connectionId = `device-${++opened}`;
  await socket.open(connectionId);
  return pairing(connectionId, code);
}

const paired = async (code: string) => payloadOf<HelloOk>(await pair(code)).auth!;
const wrong = { ok: false, error: { code: 401 } };

it("a code gets a device a token with the creator's rights of a client, once", async () => {
  const { code, short, expiresAt } = await create({ name: "phone" });
  expect(code).toMatch(/^[a-km-np-z2-9]{26}$/);
  expect(short).toBeUndefined();
  expect(expiresAt - world.now()).toBeGreaterThan(595_000);
  const auth = await paired(code);
  expect(auth).toMatchObject({ scopes: ["client", "approve"] });
  expect(auth.expiresAt - world.now()).toBeGreaterThan(deviceTokenMs - 5000);
  expect(await pair(code)).toMatchObject(wrong);
  const hello = await connect("again", auth.token);
  expect(hello.scopes).toEqual(["client", "approve"]);
  expect(hello.auth).toBeUndefined();
});

it("two devices that use a code at the same time get one token", async () => {
  const { code } = await create();
  const answers = await Promise.all(Array.from({ length: 5 }, () => pair(code)));
  expect(answers.filter((answer) => answer?.ok)).toHaveLength(1);
});

it("the typed form ends with the other one, and may be typed with spaces and capitals", async () => {
  const first = await create({ short: true });
  expect(first.short).toMatch(/^[a-km-np-z2-9]{8}$/);
  await paired(first.code);
  expect(await pair(first.short!)).toMatchObject(wrong);
  const second = await create({ short: true });
  await paired(` ${second.short!.slice(0, 4).toUpperCase()}-${second.short!.slice(4)}`);
  expect(await pair(second.code)).toMatchObject(wrong);
});

it("only hashes of codes are stored", async () => {
  const { code, short } = await create({ short: true });
  const items = await state.table.query({ pk: "CODE" });
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  expect(items.map(({ sk }) => sk).sort()).toEqual([sha256(code), sha256(short!)].sort());
  for (const text of [code, short]) expect(JSON.stringify(items)).not.toContain(text);
});

it("a code ends with its time and with the token that created it", async () => {
  const late = await create({ seconds: 60 });
  world.clock.later += 61_000;
  expect(await pair(late.code)).toMatchObject(wrong);
  const { id, token } = await world.token(["client"]);
  await connect("other", token);
  const { code } = payloadOf<PairingCode>(await socket.request("other", "code.create"));
  await connect("admin", (await world.token(["admin"])).token);
  payloadOf(await socket.request("admin", "token.revoke", { id }));
  expect(await pair(code)).toMatchObject(wrong);
});

it("a code never gives more rights than its creator has, and no lasting admin rights", async () => {
  await connect("plain", (await world.token(["client"])).token);
  const ask = (from: string, scopes?: Scope[]) => socket.request(from, "code.create", { scopes });
  expect(await ask("plain", ["client", "approve"])).toMatchObject({ error: { code: 403 } });
  expect(payloadOf<PairingCode>(await ask("plain")).scopes).toEqual(["client"]);
  await connect("admin", (await world.token(["admin"])).token);
  for (const scope of ["admin", "node", "channel"] as Scope[])
    expect(await ask("admin", [scope])).toMatchObject({ error: { code: 400 } });
  expect(payloadOf<PairingCode>(await ask("admin")).scopes).toEqual(["client", "approve"]);
});

it("the third wrong code closes the socket; a right one before it connects", async () => {
  const { code } = await create();
  for (const name of ["guesser", "typist"]) await socket.open(name);
  const other = "a".repeat(26);
  for (const end of [false, false, true]) {
    expect(world.isClosed("guesser")).toBe(false);
    expect(await pairing("guesser", other)).toMatchObject(wrong);
    expect(world.isClosed("guesser")).toBe(end);
  }
  for (let tries = 0; tries < 2; tries++) expect(await pairing("typist", other)).toMatchObject(wrong);
  expect(await pairing("typist", code)).toMatchObject({ ok: true });
  expect(world.isClosed("typist")).toBe(false);
});

it("20 wrong codes of all sockets together make an open code void", async () => {
  const guess = (count: number) => Promise.all(Array.from({ length: count }, () => pair("a".repeat(8))));
  const before = await create();
  await guess(19);
  const survived = await create();
  await paired(before.code);
  await guess(18);
  await paired(survived.code);
  const voided = await create();
  await guess(20);
  expect(await pair(voided.code)).toMatchObject(wrong);
  await paired((await create()).code);
});

it("a `connect` that cannot succeed leaves the code valid, and no token", async () => {
  const { code } = await create();
  await socket.open("node");
  const asNode = { ...nodeParams("node", ["Bash"]), auth: { code } };
  expect(await socket.request("node", "connect", asNode)).toMatchObject({ error: { code: 403 } });
  await socket.open("with-token", (await world.token(["client"])).token);
  expect(await pairing("with-token", code)).toMatchObject({ error: { code: 400 } });
  await socket.open("old");
  const old = { ...clientParams("old"), minProtocol: 9, auth: { code } };
  expect(await socket.request("old", "connect", old)).toMatchObject({ error: { code: 102 } });
  await paired(code);
  // The id of another token's client: found after the code was used.
  await socket.open("thief");
  const thief = { ...clientParams("owner"), auth: { code: (await create()).code } };
  expect(await socket.request("thief", "connect", thief)).toMatchObject({ error: { code: 409 } });
  const { devices } = payloadOf<{ devices: ListedToken[] }>(await socket.request("owner", "device.list"));
  expect(devices).toHaveLength(1);
});

it("a device's token ends after 90 days without use; each use renews it", async () => {
  const { token } = await paired((await create()).code);
  for (let month = 0; month < 4; month++) {
    world.clock.later += deviceTokenMs / 2;
    expect(await socket.open(`use-${month}`, token)).toBe(200);
  }
  world.clock.later += deviceTokenMs;
  expect(await socket.open("too late", token)).toBe(401);
});

it("devices are listed for each client, without other tokens, and a revoked one is closed", async () => {
  const first = await paired((await create({ name: "phone" })).code);
  world.clock.later += 10;
  const second = await paired((await create({ name: "phone" })).code);
  await connect("page", first.token);
  const { devices } = payloadOf<{ devices: ListedToken[] }>(await socket.request("page", "device.list"));
  expect(devices).toMatchObject([
    { id: first.id, name: "phone", connections: 2, current: true, device: true },
    { id: second.id, name: `phone (${second.id})`, connections: 1 },
  ]);
  expect(JSON.stringify(devices)).not.toMatch(/hash|gsv_/);
  payloadOf(await socket.request("owner", "device.revoke", { id: first.id }));
  for (const name of ["device-1", "page"]) expect(world.isClosed(name), name).toBe(true);
  expect(world.isClosed("device-2")).toBe(false);
  expect(await socket.open("back", first.token)).toBe(401);
  const { id } = await world.token(["client"]);
  expect(await socket.request("owner", "device.revoke", { id })).toMatchObject({ error: { code: 404 } });
});

it("the page of the gateway may open sockets, and is named to clients", async () => {
  const page = "https://gsv.example";
  socket = world.start(undefined, { pageOrigins: [page] });
  const { token } = await world.token(["client"]);
  expect(await socket.open("page", undefined, page)).toBe(200);
  for (const other of ["https://evil.example", `${page}.evil.example`, `${page}:8443`, "null"])
    expect(await socket.open("evil", token, other), other).toBe(403);
  expect((await connect("client", token)).page).toBe(page);
});

it("10,000 guessed codes open nothing", async () => {
  const alphabet = "abcdefghijkmnpqrstuvwxyz23456789";
  const letters = (length: number) =>
    Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
  let accepted = 0;
  for (let count = 0; count < 10_000; count += 100) {
    await create({ short: true });
    const guesses = Array.from({ length: 100 }, (_, index) => pair(letters(index % 2 === 0 ? 8 : 26)));
    for (const answer of await Promise.all(guesses)) if (answer?.ok) accepted++;
  }
  expect(accepted).toBe(0);
});

it("a device may call no method of an administrator", async () => {
  const { token } = await paired((await create()).code);
  await connect("page", token);
  const methods = Object.entries(methodTable).filter(
    ([, entry]) => entry.scope === "admin" && !entry.forDevices,
  );
  expect(methods.length).toBeGreaterThan(10);
  for (const [method] of methods as [Method, unknown][])
    expect(await socket.request("page", method, {}), method).toMatchObject({ error: { code: 403 } });
});
