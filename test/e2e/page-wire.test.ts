import { afterAll, beforeAll, expect, it } from "vitest";
import type { PairingCode } from "../../shared/protocol/token-results.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { clientParams, Peer } from "../support/peer.ts";
import { type Stack, startStack } from "./stack.ts";

/** What a page in a browser does, over the bundles with their roles: it has an origin, and no header of its own. */

let stack: Stack;
let model: ModelServer;
beforeAll(async () => {
  model = await startOpenAiServer(() => ({ text: "heard" }));
  stack = await startStack();
  await stack.configure({ model: { provider: "openai-compatible", id: "m", baseUrl: model.url } });
});
afterAll(async () => {
  await stack?.close();
  await model?.close();
});

it("a page connects by a code, uploads a file, reads it again, and gets the answer; other origins do not", async () => {
  const { page } = stack.cloud;
  const owner = await stack.client("owner");
  const { code } = await owner.call<PairingCode & Record<string, unknown>>("code.create", { short: true });
  const evil = "https://evil.example";
  await expect(Peer.open(stack.cloud.ws, undefined, evil)).rejects.toThrow("HTTP 403");
  const tab = await Peer.open(stack.cloud.ws, undefined, page);
  const capabilities = ["payload-s3", "session-events"];
  const hello = await tab.call<{ page: string; auth: { token: string; id: string } }>("connect", {
    ...{ ...clientParams("tab"), capabilities, auth: { code } },
  });
  expect(hello.page).toBe(page);
  const { url, ref } = await tab.call<{ url: string; ref: string }>("payload.upload", {
    ...{ bytes: 5, kind: "media" },
  });
  const question = { method: "OPTIONS", headers: { origin: page } };
  expect((await fetch(url, question)).headers.get("access-control-allow-origin")).toBe(page);
  expect((await fetch(url, { ...question, headers: { origin: evil } })).status).toBe(403);
  const headers = { origin: page, "content-type": "audio/webm" };
  const put = await fetch(url, { method: "PUT", headers, body: "voice" });
  expect([put.status, put.headers.get("access-control-allow-origin")]).toEqual([200, page]);
  const media = [{ type: "audio", mimeType: "audio/webm", dataRef: ref }];
  await tab.call("chat.send", { sessionKey: "main", media, runId: "voice" });
  expect(await tab.ended("voice")).toMatchObject({ state: "final" });
  const said = await tab.event((payload) => payload.state === "user", "the page hears its own message");
  const [r2Key] = /media\/[\w:.-]+\/[\w-]+\.\w+/.exec(JSON.stringify(said)) ?? [];
  const file = await tab.call<{ url: string }>("media.url", { sessionKey: "main", r2Key });
  expect(await (await fetch(file.url, { headers: { origin: page } })).text()).toBe("voice");
  await owner.call("device.revoke", { id: hello.auth.id });
  await tab.seen(() => tab.closed, "the page is closed");
  await owner.close();
});
