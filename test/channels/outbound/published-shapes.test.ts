import * as v from "valibot";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ChannelName } from "../../../shared/channels/channels.ts";
import { type Platform, platformNames, platformStarts } from "../../support/platforms/platforms.ts";
import { TurnBench } from "../turn-bench.ts";

/** A call of a platform's API, as sent. */
interface Call {
  /** `{method} {path}` */
  to: string;
  headers: Record<string, string>;
  body?: unknown;
}

/** A request as its platform documents it: no field may be missing or additional. */
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
const whatsappCall = {
  to: /^POST \/v\d+\.0\/\d+\/messages$/,
  headers: { ...json, authorization: /^Bearer \S+$/ },
};
const whatsappMessage = {
  ...whatsapp,
  recipient_type: v.literal("individual"),
  to: v.pipe(v.string(), v.regex(/^\+?\d+$/)),
};
const wamid = v.pipe(v.string(), v.startsWith("wamid."));
const noMentions = v.strictObject({ parse: v.tuple([]) });
const suppressEmbeds = v.literal(4);
const discordMessage = v.strictObject({
  content: text(2000),
  flags: suppressEmbeds,
  allowed_mentions: noMentions,
});
/** https://docs.discord.com/developers/resources/message#create-message */
const discordChannelMessage = v.strictObject({
  ...discordMessage.entries,
  nonce: v.pipe(v.string(), v.minLength(1), v.maxLength(25)),
  enforce_nonce: v.literal(true),
});
const discord = { "user-agent": /^DiscordBot \([^,]+, [\d.]+\)$/ };
const asBot = { ...discord, authorization: /^Bot \S+$/ };
const file = v.instance(File);
/** Form data with the file next to its JSON. */
const discordFile = v.strictObject({
  payload_json: v.literal(JSON.stringify({ allowed_mentions: { parse: [] } })),
  "files[0]": file,
});
const interaction = "/api/v10/webhooks/\\d+/[\\w%-]+";

/** https://core.telegram.org/bots/api#messageentity */
const entity = v.strictObject({
  type: v.picklist(["bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"]),
  offset: v.pipe(v.number(), v.integer(), v.minValue(0)),
  length: v.pipe(v.number(), v.integer(), v.minValue(1)),
  url: v.optional(v.string()),
  language: v.optional(v.string()),
});

/** https://docs.slack.dev/reference/block-kit/blocks/rich-text-block */
const richText = v.strictObject({
  type: v.picklist(["rich_text_section", "rich_text_preformatted", "rich_text_quote"]),
  elements: v.array(
    v.strictObject({
      type: v.picklist(["text", "link"]),
      text: v.pipe(v.string(), v.minLength(1)),
      url: v.optional(v.string()),
      style: v.optional(v.record(v.picklist(["bold", "italic", "strike", "code"]), v.literal(true))),
    }),
  ),
});

/** Every call, except downloads of files. */
const shapes: Record<ChannelName, Record<string, Shape>> = {
  // https://core.telegram.org/bots/api
  telegram: {
    getMe: { to: /^POST \/bot[\w:-]+\/getMe$/, headers: json, body: v.strictObject({}) },
    sendChatAction: {
      to: /^POST \/bot[\w:-]+\/sendChatAction$/,
      headers: json,
      body: v.strictObject({ ...telegramChat, action: v.literal("typing") }),
    },
    getFile: {
      to: /^POST \/bot[\w:-]+\/getFile$/,
      headers: json,
      body: v.strictObject({ file_id: v.string() }),
    },
    sendDocument: {
      to: /^POST \/bot[\w:-]+\/sendDocument$/,
      body: v.strictObject({ chat_id: telegramChat.chat_id, document: file }),
    },
    sendMessage: {
      to: /^POST \/bot[\w:-]+\/sendMessage$/,
      headers: json,
      body: v.strictObject({
        ...telegramChat,
        text: text(4096),
        entities: v.optional(v.pipe(v.array(entity), v.minLength(1), v.maxLength(100))),
        link_preview_options: v.strictObject({ is_disabled: v.literal(true) }),
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
      ...whatsappCall,
      body: v.strictObject({
        ...whatsappMessage,
        context: v.optional(v.strictObject({ message_id: wamid })),
        type: v.literal("text"),
        text: v.strictObject({ preview_url: v.literal(false), body: text(4096) }),
      }),
    },
    "media by its id": {
      to: /^GET \/v\d+\.0\/\d+\?phone_number_id=\d+$/,
      headers: { authorization: /^Bearer \S+$/ },
    },
    "an upload": {
      to: /^POST \/v\d+\.0\/\d+\/media$/,
      headers: { authorization: /^Bearer \S+$/ },
      body: v.strictObject({ ...whatsapp, type: v.literal("application/pdf"), file }),
    },
    "a document": {
      ...whatsappCall,
      body: v.strictObject({
        ...whatsappMessage,
        type: v.literal("document"),
        document: v.strictObject({ id: v.pipe(v.string(), v.digits()), filename: v.string() }),
      }),
    },
    "read, and typing": {
      ...whatsappCall,
      body: v.strictObject({
        ...whatsapp,
        status: v.literal("read"),
        message_id: wamid,
        typing_indicator: v.strictObject({ type: v.literal("text") }),
      }),
    },
  },
  // https://docs.slack.dev/reference/methods/chat.postMessage, https://docs.slack.dev/messaging/working-with-files
  slack: {
    "files.getUploadURLExternal": {
      to: /^GET \/api\/files\.getUploadURLExternal\?filename=plan\.pdf&length=\d+$/,
      headers: { authorization: /^Bearer xoxb-\S+$/ },
    },
    "an upload": { to: /^POST \/upload\/v1\/\w+$/, body: v.strictObject({ file }) },
    "files.completeUploadExternal": {
      to: /^POST \/api\/files\.completeUploadExternal$/,
      headers: { ...json, authorization: /^Bearer xoxb-\S+$/ },
      body: v.strictObject({
        files: v.tuple([v.strictObject({ id: v.string(), title: v.literal("plan.pdf") })]),
        channel_id: v.pipe(v.string(), v.regex(/^[CDG][A-Z0-9]+$/)),
      }),
    },
    "chat.postMessage": {
      to: /^POST \/api\/chat\.postMessage$/,
      headers: { "content-type": /^application\/json; charset=utf-8$/, authorization: /^Bearer xoxb-\S+$/ },
      body: v.strictObject({
        channel: v.pipe(v.string(), v.regex(/^[CDG][A-Z0-9]+$/)),
        text: text(40_000),
        blocks: v.optional(
          v.tuple([
            v.strictObject({
              type: v.literal("rich_text"),
              elements: v.pipe(v.array(richText), v.minLength(1)),
            }),
          ]),
        ),
        thread_ts: v.optional(v.pipe(v.string(), v.regex(/^\d{10}\.\d{6}$/))),
        unfurl_links: v.literal(false),
        unfurl_media: v.literal(false),
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
    "a follow-up with a file": {
      to: new RegExp(`^POST ${interaction}$`),
      headers: discord,
      body: discordFile,
    },
    "a follow-up": {
      to: new RegExp(`^POST ${interaction}$`),
      headers: { ...json, ...discord },
      body: discordMessage,
    },
    "a message in a channel": {
      to: /^POST \/api\/v10\/channels\/\d+\/messages$/,
      headers: { ...json, ...asBot },
      body: discordChannelMessage,
    },
    typing: { to: /^POST \/api\/v10\/channels\/\d+\/typing$/, headers: asBot },
  },
};

function isOf({ to, headers = {}, body }: Shape, call: Call): boolean {
  const hasHeaders = Object.entries(headers).every(([name, value]) => value.test(call.headers[name] ?? ""));
  return to.test(call.to) && hasHeaders && (body ? v.is(body, call.body) : call.body === undefined);
}

describe.each(platformNames)("%s", (name) => {
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
          to: `${method} ${new URL(url).pathname}${new URL(url).search}`,
          headers: Object.fromEntries(new Headers(headers)),
          ...(typeof body === "string" ? { body: JSON.parse(body) } : {}),
          ...(body instanceof FormData ? { body: Object.fromEntries(body) } : {}),
        });
      return send(url, init);
    });
    bench = new TurnBench(platform);
    await bench.open();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await bench.close();
  });

  /** A person sends a file, and gets it back. */
  async function sendFileBack(): Promise<void> {
    const { reply } = bench;
    bench.reply = { text: "kept" };
    const plan = { name: "plan.pdf", type: "application/pdf", bytes: Buffer.from("%PDF") };
    expect(await bench.deliver(platform.attach("keep this", plan))).toBe(true);
    await bench.runAgents();
    const media = bench.bucket.keys().find((key) => key.startsWith("media/"));
    bench.reply = { text: "sent", calls: { text: "", media } };
    expect(await bench.deliver(platform.direct("and back"))).toBe(true);
    await bench.runAgents();
    bench.reply = reply;
  }

  it("is called as documented, for every kind of call", async () => {
    bench.reply = {
      text: "**hello** [x](https://example.com)\n\n```ts\ny\n```\n\n".repeat(platform.maxText / 40),
    };
    for (const event of [platform.direct("hello"), platform.direct("/status"), platform.inRoom?.("hello")]) {
      if (!event) continue;
      expect(await bench.deliver(event)).toBe(true);
      await bench.runAgents();
    }
    await sendFileBack();
    // The answer to this one is too late for the command's response.
    await bench.deliver(platform.inRoom?.("and later?") ?? platform.direct("and later?"));
    bench.pass(16 * 60_000);
    await bench.runAgents();
    for (const call of calls)
      expect(
        Object.values(shapes[name]).some((shape) => isOf(shape, call)),
        JSON.stringify(call).slice(0, 300),
      ).toBe(true);
    const unused = Object.entries(shapes[name]).filter(
      ([, shape]) => !calls.some((call) => isOf(shape, call)),
    );
    expect(unused.map(([kind]) => kind)).toEqual([]);
  });
});
