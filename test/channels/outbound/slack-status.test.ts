import { afterAll, beforeAll, expect, it } from "vitest";
import { createSlack } from "../../../shared/channels/slack/slack.ts";
import { type SlackServer, startSlackServer } from "../../support/platforms/slack/slack-server.ts";

let slack: SlackServer;
beforeAll(async () => {
  slack = await startSlackServer();
});
afterAll(() => slack?.close());

it("Slack shows a status in threads, and is not called elsewhere", async () => {
  const settings = { apiBaseUrl: slack.url };
  const account = { accountId: "default", settings, secrets: { botToken: slack.botToken } };
  const show = (id: string, context = {}) =>
    createSlack().typing(account, { peer: { kind: "dm", id }, context });
  await show("C0LAN2Q65/1780000000.000200");
  await show("D024BE91L", { threadTs: "1780000000.000300" });
  await show("D024BE91L");
  expect(slack.statuses).toEqual([
    "C0LAN2Q65/1780000000.000200 is typing…",
    "D024BE91L/1780000000.000300 is typing…",
  ]);
  expect(slack.calls).toHaveLength(2);
});
