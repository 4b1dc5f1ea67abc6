import { describe, expect, it } from "vitest";
import { createDiscord } from "../../../shared/channels/discord/discord.ts";
import {
  directCommand,
  guildCommand,
  type Interaction,
  messageCommand,
} from "../../support/platforms/discord/discord-interactions.ts";
import { ed25519Key, signDiscord } from "../../support/platforms/discord/discord-signature.ts";

const key = ed25519Key("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
const publicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
const now = 1_780_000_000_000;
const discord = createDiscord({ now: () => now });
const account = {
  accountId: "default",
  settings: { publicKey, applicationId: "198622483471925248" },
  secrets: { botToken: "token" },
};

const receive = (body: string, method = "POST") => {
  const { headers } = signDiscord(key, body, String(now / 1000));
  return discord.receive({ method, headers, query: {}, body: Buffer.from(body) }, account);
};

async function read(interaction: Interaction) {
  const received = await receive(JSON.stringify(interaction));
  if (received.status !== "messages") throw new Error(`not taken: ${JSON.stringify(received)}`);
  expect(received.messages).toHaveLength(1);
  return received.messages[0];
}

const option = (value: unknown, name = "message", type = 3) => ({ name, type, value });
const withOptions = (...options: object[]) => ({ data: { name: "gsv", type: 1, options } });

describe("a call of Discord", () => {
  it("is refused when it is not a POST, or not an interaction", async () => {
    expect(await receive("{}", "GET")).toMatchObject({ status: "refused", httpStatus: 405 });
    const { id: _id, ...withoutId } = directCommand("hello");
    const bad = [
      ...["", "{", "null", "[]", "7", "{}", '{"type":"1"}', '{"type":2}', '{"type":3}', '{"type":99}'],
      JSON.stringify(withoutId),
      JSON.stringify({ ...directCommand("hello"), application_id: "1" }),
      JSON.stringify({ ...directCommand("hello"), token: "" }),
    ];
    for (const body of bad)
      expect(await receive(body), body).toMatchObject({ status: "refused", httpStatus: 400 });
  });

  it("is read without lone surrogates, which no URL of an answer may contain", async () => {
    const message = await read({ ...directCommand("hello \ud83d"), token: "half\udc4d" });
    expect(message).toMatchObject({ text: "hello \ufffd", context: { interactionToken: "half\ufffd" } });
    expect(await read(directCommand("whole 👍"))).toMatchObject({ text: "whole 👍" });
  });

  it("with a command without content is answered accordingly, only to its sender", async () => {
    for (const empty of [
      directCommand("  "),
      directCommand("", withOptions()),
      directCommand("", withOptions(option(7))),
    ]) {
      const received = await receive(JSON.stringify(empty));
      expect(received).toMatchObject({ status: "answered", httpStatus: 200 });
      expect(JSON.parse("body" in received ? received.body : "")).toMatchObject({
        type: 4,
        data: { flags: 64 },
      });
    }
  });
});

describe("a command on Discord", () => {
  it("has the sender, the conversation, the time, and the data needed to answer", async () => {
    const interaction = directCommand(" hello\n  there ");
    expect(await read(interaction)).toEqual({
      eventId: interaction.id,
      peer: { kind: "dm", id: "645027906669510667", name: "Ann" },
      sender: { id: "53908232506183680", name: "Ann", handle: "ann_example" },
      messageId: interaction.id,
      text: "hello\n  there",
      timestamp: Date.parse("2024-09-29T17:19:27.041Z"),
      wasMentioned: true,
      context: { interactionToken: interaction.token, receivedAt: String(now) },
    });
  });

  it("may come from a channel, a thread, a group, or another person's conversation", async () => {
    expect(await read(guildCommand("hi"))).toMatchObject({
      peer: { kind: "channel", id: "645027906669510999", name: "general" },
      sender: { id: "53908232506183680", name: "Annie", handle: "ann_example" },
    });
    const thread = { id: "9", type: 11, name: "plans", parent_id: "645027906669510999" };
    expect((await read(guildCommand("hi", { channel: thread, channel_id: "9" })))?.peer).toEqual({
      kind: "thread",
      id: "645027906669510999/9",
      name: "plans",
    });
    // A channel also has a parent: its category.
    const channel = { id: "9", type: 0, name: "a", parent_id: "1" };
    expect((await read(guildCommand("hi", { channel, channel_id: "9" })))?.peer.id).toBe("9");
    const group = directCommand("hi", { context: 2, channel: { type: 3, name: "Trip" } });
    expect((await read(group))?.peer).toMatchObject({ kind: "group", name: "Trip" });
    expect((await read(directCommand("hi", { context: 2 })))?.peer.kind).toBe("group");
  });

  it("is read as Discord documents it, with only the required fields", async () => {
    const documented = {
      type: 2,
      token: "A_UNIQUE_TOKEN",
      member: { user: { id: "53908232506183680", username: "Mason", discriminator: "1337" }, nick: null },
      id: "786008729715212338",
      guild_id: "290926798626357999",
      data: {
        options: [option("The Gitrog Monster", "cardname")],
        type: 1,
        name: "cardsearch",
        id: "771825006014889984",
      },
      channel_id: "645027906669510667",
    };
    expect(await read(documented as unknown as Interaction)).toMatchObject({
      peer: { kind: "channel", id: "645027906669510667" },
      sender: { id: "53908232506183680", name: "Mason" },
      text: "The Gitrog Monster",
    });
  });

  it("reads the option called message, and a file next to it", async () => {
    const options = [option("other", "tone"), option("hello"), option("11", "file", 11)];
    const url = "https://cdn.discordapp.com/ephemeral-attachments/1/11/a.png?ex=1&hm=2";
    const file = { id: "11", filename: "a.png", content_type: "image/png", size: 9, url };
    const data = { name: "gsv", type: 1, options, resolved: { attachments: { "11": file } } };
    expect(await read(directCommand("", { data }))).toMatchObject({
      text: "hello",
      attachments: [{ type: "image", mimeType: "image/png", filename: "a.png", size: 9, source: { url } }],
    });
    const alone = { ...data, options: [option("11", "file", 11)] };
    expect(await read(directCommand("", { data: alone }))).toMatchObject({ text: "", attachments: [{}] });
  });

  it("on a voice message has its audio", async () => {
    const voice = {
      ...{ id: "1", filename: "voice-message.ogg", content_type: "audio/ogg", size: 4000 },
      ...{ url: "https://cdn.discordapp.com/attachments/1/1/voice-message.ogg" },
      ...{ duration_secs: 2.4, waveform: "AAA=" },
    };
    const found = await read(messageCommand({ content: "", author: undefined, attachments: [voice] }));
    expect(found?.attachments).toMatchObject([{ type: "audio", voice: true, duration: 2.4 }]);
  });

  it.each(["constructor", "__proto__"])("on a missing message has no content: %s", async (id) => {
    const interaction = messageCommand({ content: "what now?" });
    Object.assign(interaction.data as object, { target_id: id });
    await expect(read(interaction)).rejects.toThrow("The command has no message; write one.");
  });

  it("on a message has that message, with its writer's name", async () => {
    const author = { id: "7", username: "bob" };
    const shown = async (target: Parameters<typeof messageCommand>[0]) => {
      const message = await read(messageCommand(target));
      expect(message?.text).toBe("");
      return message?.shown;
    };
    expect(await shown({ content: "what now?", author })).toBe("[forwarded from bob]\n> what now?");
    expect(await shown({ content: "", author })).toBe("[forwarded from bob]");
    expect(await shown({ content: "x", author: undefined })).toBe("[forwarded]\n> x");
  });
});
