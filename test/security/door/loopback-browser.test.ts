import { request } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type LocalGateway, startLocalGateway } from "../../../local/in-process-gateway.ts";
import { type OfflineModel, startOfflineModel } from "../../../local/offline-model/offline-model-server.ts";
import { openObjectUrls } from "../../../local/world/object-urls.ts";
import { createToken } from "../../../shared/peers/tokens.ts";
import { openClient } from "../../support/peer.ts";
import { newFolder } from "../../support/run/test-folders.ts";

/** Loopback browser: a web page in a browser of the gateway's machine must not use what listens on 127.0.0.1. */

let gateway: LocalGateway;
let model: OfflineModel;
let token: string;
let objectUrl: string;
beforeAll(async () => {
  const webhookUrl = "https://tunnel.example/";
  gateway = await startLocalGateway({
    dir: newFolder(),
    webhookUrl,
    hosts: ["proxy.example"],
    log: () => {},
  });
  model = await startOfflineModel();
  const { world } = gateway;
  token = (await createToken(world.table, { name: "t", scopes: ["client"] }, Date.now())).token;
  await world.bucket.put("payloads/out/1.json", "the owner's");
  objectUrl = await world.presigner.get("payloads/out/1.json", 60);
});
afterAll(async () => {
  await gateway.close();
  await model.close();
});

/** The status of a request with these headers. */
function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject).end();
  });
}

/** The status of a WebSocket handshake; 101 for an open socket. */
function upgrade(headers: Record<string, string>): Promise<number | undefined> {
  const socket = new WebSocket(gateway.ws, { headers: { authorization: `Bearer ${token}`, ...headers } });
  return new Promise((resolve) => {
    socket.on("error", () => {});
    socket.on("open", () => resolve(101));
    socket.on("unexpected-response", (_, { statusCode }) => resolve(statusCode));
  }).finally(() => socket.terminate()) as Promise<number | undefined>;
}

const page = "https://evil.example";
/** Headers of a page's request: by the machine's address, and after its name was changed to that address. */
const attacks: Record<string, string>[] = [
  { origin: page },
  { origin: "null" },
  { host: "evil.example:39021" },
  { host: "127.0.0.1.evil.example" },
];

it.each(attacks)("a web page with the headers %j reaches nothing", async (headers) => {
  expect(await upgrade(headers), "socket").toBe(403);
  for (const url of [
    gateway.ws.replace("ws:", "http:"),
    `${gateway.webhook}/health`,
    objectUrl,
    `${model.url}/chat/completions`,
  ])
    expect(await statusOf(url, headers), url).toBe(403);
});

it("programs of the machine, and a tunnel or proxy that the owner named, reach everything", async () => {
  for (const host of [
    "127.0.0.1",
    "localhost:39021",
    "LOCALHOST",
    "[::1]:1",
    "tunnel.example",
    "proxy.example:443",
  ]) {
    expect(await upgrade({ host }), host).toBe(101);
    expect(await statusOf(`${gateway.webhook}/health`, { host }), host).toBe(200);
  }
  expect(await statusOf(objectUrl, {})).toBe(200);
  expect(await statusOf(`${model.url}/chat/completions`, {})).toBe(404);
});

it("the gateway's own page uses the URLs of objects, and a browser learns that it may", async () => {
  const own = "http://127.0.0.1:4100";
  const urls = openObjectUrls(gateway.machine.objects, () => {}, [own]);
  const put = await urls.presigner.put("payloads/in/1.json", 60, 2);
  const asked = await fetch(put, { method: "OPTIONS", headers: { origin: own } });
  expect(asked.status).toBe(204);
  expect(asked.headers.get("access-control-allow-origin")).toBe(own);
  expect(asked.headers.get("access-control-allow-methods")).toContain("PUT");
  const headers = { origin: own, "content-type": "application/json" };
  expect((await fetch(put, { method: "PUT", headers, body: "{}" })).status).toBe(200);
  const get = await urls.presigner.get("payloads/in/1.json", 60);
  const read = await fetch(get, { headers: { origin: own } });
  expect(read.headers.get("access-control-allow-origin")).toBe(own);
  expect(await read.text()).toBe("{}");
  for (const origin of [page, "null", `${own}1`, own.replace("127.0.0.1", "localhost")])
    for (const method of ["GET", "OPTIONS"]) {
      const refused = await fetch(get, { method, headers: { origin } });
      expect(refused.status, origin).toBe(403);
      expect(refused.headers.get("access-control-allow-origin")).toBeNull();
    }
  await urls.close();
});

it("a page whose origin the owner allowed may connect, and no other page", async () => {
  const { token: admin } = await createToken(
    gateway.world.table,
    { name: "a", scopes: ["admin"] },
    Date.now(),
  );
  const owner = await openClient(gateway.ws, admin, "owner");
  const allowed = "https://console.example";
  const set = (value: string[]) => owner.request("config.set", { path: "allowedOrigins", value });
  for (const value of ["*", `${allowed}/`, "console.example"])
    expect(await set([value]), value).toMatchObject({ ok: false, error: { code: 400 } });
  expect(await set([allowed])).toMatchObject({ ok: true });
  expect(await upgrade({ origin: allowed })).toBe(101);
  for (const origin of ["http://console.example", `${allowed}:8443`, `${allowed}.evil.example`, page, "null"])
    expect(await upgrade({ origin }), origin).toBe(403);
  await owner.close();
});
