import * as v from "valibot";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Platform, platformStarts } from "../support/platforms.ts";
import { TurnBench } from "./turn-bench.ts";

/** A call of a platform's API, as it left. */
interface Call {
  /** `{method} {path}` */
  to: string;
  headers: Record<string, string>;
  body?: unknown;
}

/** A request as its platform publishes it: nothing may be missing, and nothing else may be there. */
interface Shape {
  to: RegExp;
  headers?: Record<string, RegExp>;
  body?: v.GenericSchema;
}

const text = (most: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(most));
const json = { "content-type": /^application\/json/ };

const telegramChat = {
  chat_id: v.pipe(v.string(), v.regex(/^-?\d+$/)),
  message_thread_id: v.optional(v.pipe(v.number(), v.integer())),
};
const whatsapp = { messaging_product: v.literal("whatsapp") };
const wamid = v.pipe(v.string(), v.startsWith("wamid."));
const noMentions = v.strictObject({ parse: v.tuple([]) });
const discordMessage = v.strictObject({ content: text(2000), allowed_mentions: noMentions });
const discord = { "user-agent": /^DiscordBot \([^,]+, [\d.]+\)$/ };
const asBot = { ...discord, authorization: /^Bot \S+$/ };
const interaction = "/api/v10/webhooks/\\d+/[\\w%-]+";

/** Every call that is made for messages of text. */
const shapes: Record<string, Record<string, Shape>> = {
  // https://core.telegram.org/bots/api
  telegram: {
    getMe: { to: /^POST \/bot[\w:-]+\/getMe$/, headers: json, body: v.strictObject({}) },
    sendChatAction: {
      to: /^POST \/bot[\w:-]+\/sendChatAction$/,
      headers: json,
      body: v.strictObject({ ...telegramChat, action: v.literal("typing") }),
    },
    sendMessage: {
      to: /^POST \/bot[\w:-]+\/sendMessage$/,
      headers: json,
      body: v.strictObject({
        ...telegramChat,
        text: text(4096),
        reply_parameters: v.optional(
          v.strictObject({
            message_id: v.pipe(v.number(), v.integer()),
            allow_sending_without_reply: v.boolean(),
          }),
        ),
      }),
    },
  },
  // https://developers.facebook.com/documentation/business-messaging/whatsapp
  whatsapp: {
    "a text": {
      to: /^POST \/v\d+\.0\/\d+\/messages$/,
      headers: { ...json, authorization: /^Bearer \S+$/ },
      body: v.strictObject({
        ...whatsapp,
        recipient_type: v.literal("individual"),
        to: v.pipe(v.string(), v.regex(/^\+?\d+$/)),
        context: v.optional(v.strictObject({ message_id: wamid })),
        type: v.literal("text"),
        text: v.strictObject({ preview_url: v.boolean(), body: text(4096) }),
      }),
    },
    "read, and typing": {
      to: /^POST \/v\d+\.0\/\d+\/messages$/,
      headers: { ...json, authorization: /^Bearer \S+$/ },
      body: v.strictObject({
        ...whatsapp,
        status: v.literal("read"),
        message_id: wamid,
        typing_indicator: v.strictObject({ type: v.literal("text") }),
      }),
    },
  },
  // https://docs.slack.dev/reference/methods/chat.postMessage
  slack: {
    "chat.postMessage": {
      to: /^POST \/api\/chat\.postMessage$/,
      headers: { "content-type": /^application\/json; charset=utf-8$/, authorization: /^Bearer xoxb-\S+$/ },
      body: v.strictObject({
        channel: v.pipe(v.string(), v.regex(/^[CDG][A-Z0-9]+$/)),
        text: text(40_000),
        thread_ts: v.optional(v.pipe(v.string(), v.regex(/^\d{10}\.\d{6}$/))),
        unfurl_links: v.boolean(),
        unfurl_media: v.boolean(),
      }),
    },
  },
  // https://docs.discord.com/developers/interactions/receiving-and-responding#endpoints
  discord: {
    "the original response": { to: new RegExp(`^GET ${interaction}/messages/@original$`), headers: discord },
    "its edit": {
      to: new RegExp(`^PATCH ${interaction}/messages/@original$`),
      headers: { ...json, ...discord },
      body: discordMessage,
    },
    "a follow-up": {
      to: new RegExp(`^POST ${interaction}$`),
      headers: { ...json, ...discord },
      body: discordMessage,
    },
    "a message in a channel": {
      to: /^POST \/api\/v10\/channels\/\d+\/messages$/,
      headers: { ...json, ...asBot },
      body: discordMessage,
    },
    typing: { to: /^POST \/api\/v10\/channels\/\d+\/typing$/, headers: asBot },
  },
};

function isOf({ to, headers = {}, body }: Shape, call: Call): boolean {
  const hasHeaders = Object.entries(headers).every(([name, value]) => value.test(call.headers[name] ?? ""));
  return to.test(call.to) && hasHeaders && (body ? v.is(body, call.body) : call.body === undefined);
}

const names = Object.keys(platformStarts) as (keyof typeof platformStarts)[];

describe.each(names)("%s", (name) => {
  let platform: Platform;
  let bench: TurnBench;
  let calls: Call[];

  beforeEach(async () => {
    vi.spyOn(process.stdout, "write").mockImplementation(() => true);
    platform = await platformStarts[name]();
    calls = [];
    const send = globalThis.fetch;
    vi.stubGlobal("fetch", (url: string, init: RequestInit = {}) => {
      const { method = "GET", headers, body } = init;
      if (url.startsWith(platform.url))
        calls.push({
          to: `${method} ${new URL(url).pathname}`,
          headers: Object.fromEntries(new Headers(headers)),
          ...(typeof body === "string" ? { body: JSON.parse(body) } : {}),
        });
      return send(url, init);
    });
    bench = new TurnBench(platform);
    await bench.open();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await bench.close();
    await platform.close();
  });

  it("is called as it publishes, for every kind of call that there is", async () => {
    bench.reply = { text: "hello\n\n".repeat(platform.maxText / 4) };
    for (const event of [platform.direct("hello"), platform.direct("/status"), platform.inRoom?.("hello")]) {
      if (!event) continue;
      expect(await bench.deliver(event)).toBe(true);
      await bench.runAgents();
    }
    // The answer to this one comes too late to be one to the command.
    await bench.deliver(platform.inRoom?.("and later?") ?? platform.direct("and later?"));
    bench.pass(16 * 60_000);
    await bench.runAgents();
    for (const call of calls)
      expect(
        Object.values(shapes[name] ?? {}).some((shape) => isOf(shape, call)),
        JSON.stringify(call).slice(0, 300),
      ).toBe(true);
    const unused = Object.entries(shapes[name] ?? {}).filter(
      ([, shape]) => !calls.some((call) => isOf(shape, call)),
    );
    expect(unused.map(([kind]) => kind)).toEqual([]);
  });
});
