import { expect, it } from "vitest";
import type { DiscordBridge } from "../../cli/bridge/discord-bridge.ts";
import { sendOutbound } from "../../cli/bridge/send-outbound.ts";
import type { ModelRequest } from "../support/models/scripted-model.ts";
import { until } from "../support/until.ts";
import { bridgeHouse } from "./bridge-house.ts";

const house = bridgeHouse();
const annsDm = "5001";

/** The newest text that the model got from a person. */
function lastText({ turns }: ModelRequest): string {
  return turns.findLast(({ role }) => role === "user")?.text ?? "";
}

/** The agent answers every text alike, and the text is recorded. */
function echo(): void {
  house.answer = (request) => {
    house.asked.push(lastText(request));
    return { text: "Heard." };
  };
}

/** The conversations to which the agent answers from now on. */
function peersOf({ connection }: DiscordBridge): string[] {
  const peers: string[] = [];
  connection.onEvent("channel.outbound", ({ peer }) => peers.push(`${peer.kind} ${peer.id}`));
  return peers;
}

const posted = () => house.discord.messages.map(({ content }) => content);

it("a direct message is answered as a reply to it", async () => {
  echo();
  house.bridge();
  await until(() => house.gateway.begun.length > 0);
  const id = house.gateway.write({ content: "hello" });
  await until(() => posted().length > 0);
  expect(house.asked).toEqual([expect.stringContaining("hello")]);
  expect(
    house.discord.calls.find(({ path }) => path.endsWith(`/channels/${annsDm}/messages`))?.body,
  ).toMatchObject({
    content: "Heard.",
    message_reference: { message_id: id },
  });
  expect(house.discord.typing).toContain(annsDm);
});

it("the agent gets a message's file and the text that it answers", async () => {
  echo();
  house.bridge();
  await until(() => house.gateway.begun.length > 0);
  house.gateway.write({
    content: "what is it?",
    attachments: [
      { filename: "plan.txt", content_type: "text/plain", size: 9, url: `${house.discord.url}/kept/plan` },
    ],
    referenced_message: { content: "I said so", author: { id: "9", username: "bob" } },
    message_reference: { message_id: "9" },
  });
  await until(() => posted().length > 0);
  // The gateway fetches files from https addresses only.
  expect(house.asked[0]).toMatch(
    /in reply to: I said so.*what is it\?.*document: plan\.txt, text\/plain, could not be fetched/s,
  );
});

it("in a server only a message that mentions the bot, or answers it, is answered, and a thread is a conversation", async () => {
  echo();
  house.discord.gateway.channels.set("700", { type: 11, name: "plans", parent_id: "600" });
  house.discord.gateway.channels.set("600", { type: 0, name: "general" });
  const peers = peersOf(house.bridge());
  await until(() => house.gateway.begun.length > 0);
  const bot = house.discord.applicationId;
  const room = { guild_id: "1", channel_id: "600" };
  house.gateway.write({ ...room, content: "not for you" });
  house.gateway.write({ ...room, content: `<@${bot}> first`, mentions: [{ id: bot, username: "gsv" }] });
  const answered = { content: "I said so", author: { id: bot, username: "gsv" } };
  house.gateway.write({
    ...{ ...room, channel_id: "700", content: "second", referenced_message: answered },
    message_reference: { message_id: "9" },
  });
  await until(() => posted().length === 2);
  expect(house.asked.join()).toContain("first");
  expect(house.asked.join()).toContain("second");
  expect(house.asked.join()).not.toContain("not for you");
  expect(house.asked.join()).not.toContain(bot);
  expect(house.discord.messages.map(({ channel_id }) => channel_id).sort()).toEqual(["600", "700"]);
  expect(peers.sort()).toEqual(["channel 600", "thread 600/700"]);
});

it("messages of bots, its own among them, are not answered", async () => {
  echo();
  house.bridge();
  await until(() => house.gateway.begun.length > 0);
  const author = { id: "9", username: "other", bot: true };
  house.gateway.write({ content: "beep", author });
  house.gateway.write({ content: "hello" });
  await until(() => posted().length > 0);
  expect(house.asked).toHaveLength(1);
});

it("messages from the time without a connection are read afterwards, when the session goes on and when it has ended", async () => {
  echo();
  const first = house.bridge();
  await until(() => house.gateway.begun.length > 0);
  house.gateway.write({ content: "one" });
  await until(() => posted().length === 1);
  await first.stop();
  house.gateway.write({ content: "two" });
  const second = house.bridge();
  await until(() => posted().length === 2);
  expect(house.gateway.begun).toEqual(["identify", "resume"]);
  await second.stop();
  house.gateway.endSessions();
  house.gateway.write({ content: "three" });
  house.gateway.write({ content: "four" });
  house.bridge();
  await until(() => posted().length === 4);
  expect(house.gateway.begun).toEqual(["identify", "resume", "refused", "identify"]);
  expect(house.asked.map((text) => /one|two|three|four/.exec(text)?.[0])).toEqual([
    "one",
    "two",
    "three",
    "four",
  ]);
});

it("a message from that time in a thread belongs to the thread", async () => {
  let conversation = "";
  house.answer = ({ turns }) => {
    conversation = turns.map(({ text }) => text).join("\n");
    return { text: "Heard." };
  };
  const bot = house.discord.applicationId;
  house.discord.gateway.channels.set("700", { type: 11, name: "plans", parent_id: "600" });
  const write = (content: string) =>
    house.gateway.write({
      ...{ guild_id: "1", channel_id: "700", content: `<@${bot}> ${content}` },
      mentions: [{ id: bot, username: "gsv" }],
    });
  const first = house.bridge();
  await until(() => house.gateway.begun.length > 0);
  write("one");
  await until(() => posted().length === 1);
  await first.stop();
  house.gateway.endSessions();
  write("two");
  const peers = peersOf(house.bridge());
  await until(() => posted().length === 2);
  // An answer that was not confirmed before the stop comes again.
  expect(new Set(peers)).toEqual(new Set(["thread 600/700"]));
  expect(conversation).toMatch(/one.*two/s);
});

it("the agent answers a corrected message, and no link's preview", async () => {
  echo();
  house.bridge();
  await until(() => house.gateway.begun.length > 0);
  const id = house.gateway.write({ content: "what is 2 + 3? https://example.org" });
  await until(() => posted().length === 1);
  house.gateway.change(id, { embeds: [{ title: "Example" }], edited_timestamp: null });
  house.gateway.change(id, {
    content: "what is 2 + 4? https://example.org",
    edited_timestamp: "2026-11-27T08:00:00.000000+00:00",
  });
  await until(() => posted().length === 2);
  expect(house.asked).toEqual([
    expect.stringContaining("2 + 3"),
    expect.stringMatching(/\[corrected\].*2 \+ 4/s),
  ]);
});

it("a message that gsv has not accepted is forwarded after the next start", async () => {
  echo();
  const first = house.bridge({ url: "ws://127.0.0.1:9" });
  await until(() => house.gateway.begun.length > 0);
  house.gateway.write({ content: "one" });
  // The bridge has asked where the message is; now it cannot forward it.
  await until(() => house.discord.calls.some(({ path }) => path.endsWith(`/channels/${annsDm}`)));
  await first.stop();
  house.bridge();
  await until(() => posted().length === 1);
  expect(house.gateway.begun).toEqual(["identify", "resume"]);
});

it("a connection that is cut is resumed", async () => {
  echo();
  house.bridge();
  await until(() => house.gateway.begun.length > 0);
  house.gateway.write({ content: "one" });
  await until(() => posted().length === 1);
  house.gateway.cut();
  house.gateway.write({ content: "two" });
  await until(() => posted().length === 2);
  expect(house.gateway.begun).toEqual(["identify", "resume"]);
});

it("a forwarded command is shown to the agent, and not obeyed", async () => {
  echo();
  house.bridge();
  await until(() => house.gateway.begun.length > 0);
  const snapshot = { message: { content: "/reset" } };
  house.gateway.write({
    content: "",
    message_snapshots: [snapshot],
    message_reference: { type: 1, message_id: "8" },
  });
  await until(() => posted().length > 0);
  expect(posted()).toEqual(["Heard."]);
  expect(house.asked.join()).toContain("/reset");
});

it("a token that Discord refuses ends the bridge with Discord's reason", async () => {
  const { ended } = house.bridge({ botToken: "wrong" });
  expect(await ended).toMatchObject({ message: expect.stringMatching(/^Discord refuses the bot: .*401/) });
});

it("a file of the agent is uploaded once", async () => {
  const { discord, options } = house;
  const account = {
    ...{ accountId: "default", settings: { apiBaseUrl: discord.url } },
    secrets: { botToken: options.botToken },
  };
  discord.files.set("/kept", { name: "plan.pdf", type: "application/pdf", bytes: Buffer.from("%PDF") });
  const media = [{ type: "document" as const, mimeType: "application/pdf", filename: "plan.pdf", size: 4 }];
  const outbound = {
    ...{ channel: "discord", accountId: "default", peer: { kind: "dm" as const, id: annsDm } },
    message: { id: "m#0", text: "", media: media.map((file) => ({ ...file, url: `${discord.url}/kept` })) },
  };
  const { signal } = new AbortController();
  const sent = await sendOutbound(account, outbound, signal);
  expect(sent).toEqual({ messageId: discord.messages[0]?.id });
  expect(await sendOutbound(account, outbound, signal)).toEqual(sent);
  expect(discord.uploads.map(({ name, size }) => [name, size])).toEqual([["plan.pdf", 4]]);
});

it("a message that Discord refuses is reported with its reason", async () => {
  echo();
  house.discord.closed.add("5009");
  house.bridge();
  await until(() => house.gateway.begun.length > 0);
  house.gateway.write({ content: "hello", channel_id: "5009" });
  const failed = () =>
    house.discord.calls.some(({ path, status }) => path.includes("5009") && status === 403);
  await until(failed);
  const table = house.dev.cloud.world.table;
  await until(async () => (await table.query({ pk: "OUT#discord#default" })).length === 0);
});
