import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startOfflineModel } from "../../../local/offline-model/offline-model-server.ts";
import { inboundParams, openBridge } from "../../support/bridge.ts";
import { until } from "../../support/until.ts";
import { type AttackedGateway, startAttackedGateway } from "../attacked-gateway.ts";

/** SSRF: an address in a message must not make the gateway connect to what only it can reach. */

let on: AttackedGateway;
let model: Awaited<ReturnType<typeof startOfflineModel>>;
beforeAll(async () => {
  [on, model] = await Promise.all([startAttackedGateway(), startOfflineModel()]);
});
afterAll(() => Promise.all([on.close(), model.close()]));

it("the gateway never connects to an attachment's address on its own machine or network", async () => {
  let connections = 0;
  const inner = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  inner.listen(0, "0.0.0.0");
  await once(inner, "listening");
  const { port } = inner.address() as AddressInfo;
  const hosts = ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "017700000001", "0.0.0.0"];
  const written = [...hosts, "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"];
  const urls = written.flatMap((host) => [`https://${host}:${port}/x`, `http://${host}:${port}/x`]);
  await on.configure({
    model: { provider: "openai-compatible", id: model.model, baseUrl: model.url },
    "apiKeys.openai-compatible": "none",
    "channels.ferry": { dmPolicy: "open" },
  });
  const bridge = await openBridge(on.ws, await on.token(["channel"], { channel: "ferry" }), "ferry");
  for (const [index, url] of urls.entries()) {
    const media = [{ type: "image", mimeType: "image/png", url }];
    const message = { id: `m-${index}`, text: "look", media };
    await bridge.call("channel.inbound", { ...inboundParams("ferry", "", ""), message });
    // The turn is over, so all fetches were tried.
    await until(() => bridge.texts().length > index, `there is an answer to ${url}`);
  }
  expect(connections).toBe(0);
  bridge.socket.terminate();
  inner.close();
});
