import { afterAll, beforeAll, expect, it } from "vitest";
import { createDiscord } from "../../../shared/channels/discord/discord.ts";
import { type DiscordServer, startDiscordServer } from "../../support/platforms/discord/discord-server.ts";

const { send, sendFile } = createDiscord();
let discord: DiscordServer;
beforeAll(async () => {
  discord = await startDiscordServer();
});
afterAll(() => discord.close());

const account = () => ({
  accountId: "default",
  settings: { apiBaseUrl: discord.url, applicationId: discord.applicationId },
  secrets: { botToken: discord.botToken },
});
const peer = { kind: "channel", id: "645027906669510667" } as const;
const plan = { filename: "plan.pdf", mimeType: "application/pdf", body: Buffer.from("%PDF") };

it("a message or a file that is sent again under its id is not posted twice", async () => {
  const text = (id: string) => send(account(), { peer, text: "hi", id });
  const first = await text("m1#0");
  expect(first).toEqual({ status: "sent", messageId: discord.messages[0]?.id });
  expect(await text("m1#0")).toEqual(first);
  expect(await text("m1#1")).not.toEqual(first);
  const file = () => sendFile?.(account(), { peer, file: plan, id: "m2#0" });
  expect(await file()).toEqual(await file());
  expect(discord.messages).toHaveLength(3);
  expect(discord.uploads).toHaveLength(1);
});

it("an answer to a message refers to it, and an answer to a command that has expired does not", async () => {
  const sent = async (context?: Record<string, string>) => {
    const before = discord.calls.length;
    await send(account(), { peer, text: "hi", replyToId: "77", context });
    return discord.calls.slice(before).map(({ body }) => body);
  };
  const reference = { message_id: "77", fail_if_not_exists: false };
  expect(await sent()).toMatchObject([{ message_reference: reference }]);
  const [answer] = await sent({ interactionToken: "t", receivedAt: "0" });
  expect(answer).not.toHaveProperty("message_reference");
});
