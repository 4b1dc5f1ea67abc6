import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  directCommand,
  guildCommand,
  type Interaction,
  messageCommand,
  pingInteraction,
} from "../support/platforms/discord/discord-interactions.ts";
import { tooManyRequests } from "../support/platforms/discord/discord-methods.ts";
import { type DiscordServer, startDiscordServer } from "../support/platforms/discord/discord-server.ts";
import { type Bench, startBench } from "./bench.ts";

const main = "agent:main:main";
const room = "agent:main:discord:channel:645027906669510999";
let on: Bench;
let discord: DiscordServer;
let lines: string[];

beforeEach(async () => {
  lines = [];
  vi.spyOn(process.stdout, "write").mockImplementation((line) => lines.push(String(line)) > 0);
  [on, discord] = await Promise.all([startBench(), startDiscordServer()]);
  await configure({ dmPolicy: "open" });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await discord.close();
  await on.close();
});

const accountSettings = (): Record<string, string> => ({
  botToken: discord.botToken,
  applicationId: discord.applicationId,
  publicKey: discord.publicKey,
  apiBaseUrl: discord.url,
});
const configure = (settings: object) =>
  on.configure("channels.discord", {
    owners: ["53908232506183680"],
    ...settings,
    accounts: { default: accountSettings() },
  });
const deliver = async (interaction: object) => {
  const { status, text } = await discord.deliver(on.url, interaction);
  return [status, JSON.parse(text)];
};
const shownFor = ({ token }: Interaction) => {
  const found = discord.interactions.get(token);
  return found && [found.original, ...found.followups].map(({ content }) => content);
};
const pending = [200, { type: 5 }];
const pass = (ms: number) => {
  on.ahead += ms;
};

describe("Discord", () => {
  it("gets its ping answered, if the request is really from Discord", async () => {
    expect(await deliver(pingInteraction())).toEqual([200, { type: 1 }]);
    const { headers, body } = discord.sign(pingInteraction());
    const zeros = { ...headers, "x-signature-ed25519": "0".repeat(128) };
    for (const wrong of [zeros, {}]) {
      const answer = await fetch(`${on.url}/discord/default`, { method: "POST", headers: wrong, body });
      expect([answer.status, await answer.text()]).toEqual([401, '{"error":"wrong signature or timestamp"}']);
    }
  });

  it("delivers a command's text to the inbox, and shows at once that an answer is being written", async () => {
    const interaction = directCommand("hello");
    expect(await deliver(interaction)).toEqual(pending);
    expect(await on.inbox(main)).toMatchObject([
      {
        id: `discord:default:${interaction.id}`,
        text: expect.stringMatching(/^\[discord · [-\d]+ [:\d]+\]\nhello$/),
        origin: {
          channel: "discord",
          peer: { kind: "dm", id: "645027906669510667", name: "Ann" },
          replyToId: interaction.id,
          context: { interactionToken: interaction.token, receivedAt: expect.stringMatching(/^\d{13}$/) },
        },
      },
    ]);
    expect(on.woken).toEqual([main]);
    expect(discord.calls).toEqual([]);
  });

  it("shows the answer in that place, and its further parts after it", async () => {
    const interaction = guildCommand("hello");
    await deliver(interaction);
    const parts = ["a", "b", "c"].map((letter) => letter.repeat(1500));
    expect(await on.deliver(await on.origin(room), "a", parts.join("\n\n"))).toEqual({ ok: true });
    expect(shownFor(interaction)).toEqual(parts);
    const path = `/api/v10/webhooks/${discord.applicationId}/${interaction.token}`;
    expect(discord.calls.map((call) => `${call.method} ${call.path}`)).toEqual([
      `GET ${path}/messages/@original`,
      `PATCH ${path}/messages/@original`,
      `POST ${path}`,
      `POST ${path}`,
    ]);
    expect(discord.calls.every(({ headers }) => headers.authorization === undefined)).toBe(true);
    expect(discord.calls[1]?.body).toEqual({ content: parts[0], flags: 4, allowed_mentions: { parse: [] } });
  });

  it("gets an answer after a quarter of an hour as the bot's message in the channel or thread", async () => {
    await deliver(guildCommand("hello"));
    const inThread = { id: "86779385450594", type: 11, name: "plans", parent_id: "645027906669510999" };
    await deliver(guildCommand("and here", { channel: inThread, channel_id: inThread.id }));
    const thread = "agent:main:discord:thread:645027906669510999_86779385450594";
    expect(on.woken).toEqual([room, thread]);
    const origins = [await on.origin(room), await on.origin(thread)];
    pass(15 * 60_000);
    for (const [index, origin] of origins.entries())
      expect(await on.deliver(origin, `late-${index}`, "done")).toEqual({ ok: true });
    expect(discord.messages.map(({ channel_id, content }) => [channel_id, content])).toEqual([
      ["645027906669510999", "done"],
      ["86779385450594", "done"],
    ]);
    expect(discord.calls.every(({ headers }) => headers.authorization === `Bot ${discord.botToken}`)).toBe(
      true,
    );
  });

  it("gets an answer as the bot's message if it has closed the interaction early", async () => {
    const interaction = guildCommand("hello");
    await deliver(interaction);
    discord.interactions.get(interaction.token)!.isExpired = true;
    pass(60_000);
    expect(await on.deliver(await on.origin(room), "a", "done")).toEqual({ ok: true });
    expect(discord.messages).toMatchObject([{ content: "done" }]);
  });

  it("may not know an interaction yet if the answer is quick: then the answer is sent again", async () => {
    const interaction = guildCommand("hello");
    await deliver(interaction);
    const known = discord.interactions.get(interaction.token)!;
    discord.interactions.delete(interaction.token);
    const origin = await on.origin(room);
    const waits: number[] = [];
    const wait = (ms: number) => {
      waits.push(ms);
      discord.interactions.set(interaction.token, known);
    };
    expect(await on.deliver(origin, "a", "quick", wait)).toEqual({ ok: true });
    expect(waits).toEqual([4000]);
    expect(shownFor(interaction)).toEqual(["quick"]);
    expect(discord.messages).toEqual([]);
  });

  it("keeps earlier messages, and shows the same text only once", async () => {
    const interaction = guildCommand("hello");
    await deliver(interaction);
    const origin = await on.origin(room);
    // The answer takes effect, but the connection is lost before the response.
    discord.fail("PATCH", { drop: true, after: true });
    expect(await on.deliver(origin, "a", "first")).toEqual({ ok: true });
    expect(await on.deliver(origin, "b", "second")).toEqual({ ok: true });
    expect(shownFor(interaction)).toEqual(["first", "second"]);
  });

  it("shows a command's answer at once, without another call", async () => {
    const status = directCommand("/status");
    expect(await deliver(status)).toEqual([
      200,
      {
        type: 4,
        data: {
          content: expect.stringContaining(`Session: ${main}`),
          flags: 4,
          allowed_mentions: { parse: [] },
        },
      },
    ]);
    const [, wrong] = await deliver(directCommand(`/think ${"x ".repeat(3000)}`));
    expect(wrong).toMatchObject({
      type: 4,
      data: { content: expect.stringMatching(/^Invalid level: .* …$/) },
    });
    expect(discord.calls).toEqual([]);
    expect(await on.inbox(main)).toEqual([]);
  });

  it("shows the status of a message, and the answer to the message too", async () => {
    const interaction = directCommand("why? /status");
    const [, shown] = await deliver(interaction);
    expect(shown).toMatchObject({ type: 4, data: { content: expect.stringContaining("Session:") } });
    await on.deliver(await on.origin(main), "a", "because");
    expect(shownFor(interaction)).toEqual([expect.stringContaining("Session:"), "because"]);
  });

  it("shows only the refused sender that there is no answer", async () => {
    const refused = {
      type: 4,
      data: { content: "Not available.", flags: 64, allowed_mentions: { parse: [] } },
    };
    for (const settings of [{}, { dmPolicy: "allowlist", allowFrom: ["42"], owners: [] }]) {
      await configure(settings);
      for (const text of ["hello", "/status", "/model openai/gpt-5"]) {
        expect(await deliver(directCommand(text))).toEqual([200, refused]);
        expect(await deliver(guildCommand(text))).toEqual([200, refused]);
      }
    }
    expect(on.writes).toBe(0);
    expect(discord.calls).toEqual([]);
  });

  it("shows an unknown sender once that the message waits, and nothing in a server", async () => {
    await configure({ dmPolicy: "pairing", owners: [] });
    const [, shown] = await deliver(directCommand("/model openai/gpt-5"));
    expect(shown).toMatchObject({
      type: 4,
      data: { content: expect.stringMatching(/^You don't have access/) },
    });
    const refused = { type: 4, data: { content: "Not available.", flags: 64 } };
    expect(await deliver(directCommand("hello"))).toMatchObject([200, refused]);
    expect(await deliver(guildCommand("hello"))).toMatchObject([200, refused]);
    expect(discord.calls).toEqual([]);
    expect(await on.inbox(main)).toEqual([]);
  });

  it("admits by the id of a user or a channel", async () => {
    await configure({ dmPolicy: "allowlist", owners: [], allowFrom: ["53908232506183680"] });
    expect(await deliver(directCommand("hello"))).toEqual(pending);
    await on.configure("channels.discord.allowFrom", ["645027906669510999"]);
    expect(await deliver(guildCommand("hello"))).toEqual(pending);
    expect(on.woken).toEqual(["agent:main:discord:guest:53908232506183680", room]);
  });

  it("delivers the message that a command refers to, which is not a command itself", async () => {
    const author = { id: "7", username: "bob", global_name: "Bob [admin]" };
    const url = "https://cdn.discordapp.com/attachments/1/1/plan.pdf";
    const attachments = [{ id: "1", filename: "plan.pdf", content_type: "application/pdf", url }];
    expect(await deliver(messageCommand({ content: "/reset", author, attachments }))).toEqual(pending);
    expect(await on.inbox(room)).toMatchObject([
      {
        text: expect.stringMatching(
          / · Annie\]\n\[forwarded from Bob admin\]\n> \/reset\n> document plan.pdf$/,
        ),
        attachments: [{ type: "document", filename: "plan.pdf", source: { url } }],
      },
    ]);
  });

  it("may deliver an interaction twice: it is one message", async () => {
    const interaction = directCommand("hello");
    for (let time = 0; time < 3; time++) expect(await deliver(interaction)).toEqual(pending);
    expect(await on.inbox(main)).toHaveLength(1);
  });

  it("is refused without its secret and its key", async () => {
    for (const missing of ["botToken", "publicKey", "applicationId"]) {
      const { [missing]: _left, ...rest } = accountSettings();
      await on.configure("channels.discord.accounts.half", rest);
      for (const interaction of [pingInteraction(), directCommand("hello")])
        expect(await discord.deliver(on.url, interaction, "/discord/half")).toMatchObject({ status: 503 });
    }
    expect(on.writes).toBe(0);
  });

  it("gets the requested wait, and gives the reason why it refuses an answer", async () => {
    await deliver(guildCommand("hello"));
    const origin = await on.origin(room);
    const waits: number[] = [];
    discord.fail("PATCH", tooManyRequests(1.337), { status: 502, body: "<html>" });
    expect(await on.deliver(origin, "a", "hi", (ms) => waits.push(ms))).toEqual({ ok: true });
    expect(waits).toEqual([1337, 2000]);
    pass(15 * 60_000);
    discord.closed.add("645027906669510999");
    expect(await on.deliver(origin, "b", "hi")).toEqual({ ok: false, reason: "403 50001 Missing Access" });
    await on.configure("channels.discord.accounts.default.botToken", "an-old-one");
    expect(await on.deliver(origin, "c", "hi")).toEqual({
      ok: false,
      reason: "authentication failed: 401 0 401: Unauthorized",
    });
  });

  it("leaves no token and no message text in the log or in a reason", async () => {
    const interaction = guildCommand("a private word");
    await deliver(interaction);
    await deliver(guildCommand("/status"));
    const origin = await on.origin(room);
    discord.fail("PATCH", {
      status: 400,
      body: { message: `no /${interaction.token}/ ${discord.botToken}`, code: 1 },
    });
    expect(await on.deliver(origin, "a", "hi")).toEqual({ ok: false, reason: "400 1 no /***/ ***" });
    const log = lines.join("");
    expect(log).toContain('"senderId":"53908232506183680"');
    for (const secret of [interaction.token, discord.botToken, "a private word", "Annie", "Session:"])
      expect(log).not.toContain(secret);
  });
});
