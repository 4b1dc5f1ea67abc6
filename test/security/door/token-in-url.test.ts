import { afterAll, beforeAll, expect, it } from "vitest";
import { clientParams, Peer } from "../../support/peer.ts";
import { callWebhook } from "../../support/platforms/platform-server.ts";
import { textUpdate } from "../../support/platforms/telegram/telegram-updates.ts";
import { type AttackedGateway, startAttackedGateway } from "../attacked-gateway.ts";

/** Token in URL: addresses are logged, stored and forwarded, so a secret in one must not count. */

let on: AttackedGateway;
beforeAll(async () => {
  on = await startAttackedGateway();
});
afterAll(() => on.close());

const names = [
  "token",
  "access_token",
  "auth",
  "auth.token",
  "authorization",
  "Authorization",
  "bearer",
  "key",
];

it("a valid token in the query of the WebSocket address is not accepted", async () => {
  const token = await on.token(["client", "admin"]);
  for (const name of names)
    for (const value of [token, `Bearer ${token}`]) {
      const peer = await Peer.open(`${on.ws}?${name}=${encodeURIComponent(value)}`);
      expect(await peer.request("connect", clientParams("stranger")), name).toMatchObject({
        ok: false,
        error: { code: 401 },
      });
      peer.socket.terminate();
    }
});

it("a valid token in the user name and password of the address is not accepted", async () => {
  const token = await on.token(["client", "admin"]);
  for (const login of [`${token}:`, `:${token}`, `Bearer:${token}`])
    await expect(Peer.open(on.ws.replace("ws://", `ws://${login}@`))).rejects.toThrow("HTTP 401");
});

it("a webhook's secret in its address does not replace the signature", async () => {
  const webhookSecret = "the-secret-of-the-webhook";
  await on.configure({
    "channels.telegram": { dmPolicy: "open", accounts: { default: { botToken: "1:token", webhookSecret } } },
  });
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify(textUpdate("hello"));
  const queries = [...names, "secret", "secret_token", "x-telegram-bot-api-secret-token"];
  for (const path of [...queries.map((name) => `?${name}=${webhookSecret}`), `/${webhookSecret}`]) {
    const answer = await callWebhook(on.webhook, {
      method: "POST",
      path: `/telegram/default${path}`,
      headers,
      body,
    });
    expect([401, 404], path).toContain(answer.status);
  }
});
