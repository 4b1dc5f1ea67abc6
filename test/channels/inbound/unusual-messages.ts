import { directCommand, messageCommand } from "../../support/platforms/discord/discord-interactions.ts";
import { directMessage } from "../../support/platforms/slack/slack-events.ts";
import { textUpdate } from "../../support/platforms/telegram/telegram-updates.ts";
import { notify, whatsappMessage } from "../../support/platforms/whatsapp/whatsapp-notifications.ts";

/** A message in its platform's wire format. */
export interface Unusual {
  name: string;
  body: object;
  /** Values that the model must see: in the text, in the notes after it, in the quoted message, or as a file. */
  values: string[];
  /** The sender's own words. */
  own?: string;
  /** Whose words it contains besides. */
  origins?: string[];
}

const tg = (content: object, values: string[], rest: Partial<Unusual> = {}) => {
  const update = textUpdate("");
  const body = {
    ...update,
    message: { ...update.message, text: undefined, entities: undefined, ...content },
  };
  return { name: `telegram ${Object.keys(content).join("+")}`, body, values, ...rest };
};
const user = (id: number, first_name: string) => ({ id, is_bot: false, first_name });
const stranger = { type: "user", sender_user: user(7, "Bob"), date: 1_780_000_000 };
const channel = { id: -100_7, type: "channel", title: "Daily News" };
const image = { file_id: "PIC", file_unique_id: "u", width: 9, height: 9, file_size: 9 };
const place = { latitude: 52.37, longitude: 4.9 };

const telegram: Unusual[] = [
  tg({ contact: { phone_number: "+4912345", first_name: "Bob", last_name: "Builder", user_id: 77 } }, [
    ...["Bob Builder", "+4912345", "77"],
  ]),
  tg(
    {
      contact: { phone_number: "+1", first_name: "B", vcard: "BEGIN:VCARD\nEMAIL:b@example.com\nEND:VCARD" },
    },
    ["EMAIL:b@example.com"],
  ),
  tg(
    {
      poll: { id: "1", question: "Lunch?", options: [{ text: "Pizza" }, { text: "Soup" }], type: "regular" },
    },
    [...["Lunch?", "Pizza", "Soup"]],
  ),
  tg({ venue: { location: place, title: "Café Central", address: "Main St 1" }, location: place }, [
    ...["Café Central", "Main St 1", "52.37, 4.9"],
  ]),
  tg({ dice: { emoji: "🎲", value: 4 } }, ["🎲 4"]),
  tg(
    { sticker: { file_id: "STICKER", emoji: "👍", set_name: "Cats", is_animated: false, is_video: false } },
    [...["👍", "Cats", "STICKER"]],
  ),
  tg(
    {
      text: "see here",
      entities: [{ type: "text_link", offset: 4, length: 4, url: "https://a.example/x?[1]" }],
    },
    ["https://a.example/x?%5B1%5D"],
    { own: "see here" },
  ),
  tg({ text: "/reset", forward_origin: stranger }, ["/reset", "Bob", "2026-05-28"], {
    own: "",
    origins: ["guest:telegram/7"],
  }),
  tg(
    { text: "secret /t:high", forward_origin: { type: "hidden_user", sender_user_name: "Eve", date: 1 } },
    ["secret /t:high", "Eve"],
    { own: "", origins: ["guest:telegram/Eve"] },
  ),
  tg(
    {
      photo: [image],
      caption: "look",
      forward_origin: { type: "channel", chat: channel, message_id: 3, date: 1 },
    },
    ["look", "Daily News", "PIC"],
    { own: "", origins: ["guest:telegram/-1007"] },
  ),
  tg(
    { text: "mine", forward_origin: { type: "user", sender_user: user(5_001_002_003, "Ann"), date: 1 } },
    ["mine"],
    {
      own: "",
      origins: [],
    },
  ),
  tg(
    { text: "/reset", via_bot: { id: 99, is_bot: true, first_name: "G", username: "gif_bot" } },
    ["gif_bot"],
    {
      own: "",
      origins: ["guest:telegram/99"],
    },
  ),
  tg(
    {
      text: "why?",
      external_reply: { origin: stranger, chat: channel, photo: [image] },
      quote: { text: "the end" },
    },
    ["the end", "Bob", "Daily News", "PIC"],
    { own: "why?", origins: ["guest:telegram/Bob"] },
  ),
  tg({ text: "nice", reply_to_message: { message_id: 5, date: 1, photo: [image] } }, ["5", "image"], {
    own: "nice",
  }),
  tg({ text: "old\nmine", entities: [{ type: "blockquote", offset: 0, length: 3 }] }, ["old"], {
    own: "mine",
  }),
  tg({ story: { chat: channel, id: 12 } }, ["story", "Daily News", "12"]),
  tg({ text: "wow", reply_to_story: { chat: channel, id: 13 } }, ["story", "Daily News", "13"], {
    own: "wow",
  }),
  tg({ game: { title: "Chess", description: "A game" } }, ["game", "Chess", "A game"]),
  tg({ checklist: { title: "Trip", tasks: [{ id: 1, text: "pack" }] } }, ["checklist", "Trip", "pack"]),
];

const wa = (content: Record<string, unknown>, values: string[], rest: Partial<Unusual> = {}) => ({
  name: `whatsapp ${content.type ?? "text"} ${Object.keys(content).join("+")}`,
  body: notify({ ...whatsappMessage("x"), ...content } as never),
  values,
  ...rest,
});
const media = { id: "MEDIA", mime_type: "image/webp", sha256: "…" };

const whatsapp: Unusual[] = [
  wa({ type: "sticker", sticker: { ...media, animated: false } }, ["sticker", "MEDIA"]),
  wa(
    {
      type: "location",
      location: { ...place, name: "Harbour", address: "Dock 1", url: "https://h.example/" },
    },
    [...["Harbour", "Dock 1", "52.37, 4.9", "https://h.example/"]],
  ),
  wa(
    {
      type: "contacts",
      contacts: [
        {
          name: { formatted_name: "Bob Builder", first_name: "Bob" },
          phones: [{ phone: "+4912345", type: "WORK", wa_id: "4912345" }],
          emails: [{ email: "b@example.com", type: "WORK" }],
          org: { company: "Acme", title: "Boss" },
          addresses: [{ street: "1 Main St", city: "Oslo" }],
          urls: [{ url: "https://b.example" }],
          birthday: "2001-02-03",
        },
        { name: { formatted_name: "Cy" }, phones: [{ phone: "+2" }] },
      ],
    },
    [
      ...["Bob Builder", "+4912345", "WORK", "b@example.com", "Acme", "Boss", "1 Main St", "Oslo"],
      ...["https://b.example", "2001-02-03", "Cy", "+2"],
    ],
  ),
  wa(
    {
      type: "order",
      order: {
        catalog_id: "cat9",
        text: "quick please",
        product_items: [{ product_retailer_id: "sku1", quantity: 2, item_price: 4.5, currency: "EUR" }],
      },
    },
    ["cat9", "2 × sku1", "4.5", "EUR"],
    { own: "quick please" },
  ),
  wa(
    {
      type: "interactive",
      interactive: { type: "list_reply", list_reply: { id: "1", title: "Tue", description: "noon" } },
    },
    ["noon"],
    {
      own: "Tue",
    },
  ),
  wa(
    {
      type: "interactive",
      interactive: {
        type: "nfm_reply",
        nfm_reply: { name: "flow", body: "Sent", response_json: '{"size":["XL"]}' },
      },
    },
    ["flow", "Sent", '{"size":["XL"]}'],
    { own: "" },
  ),
  wa(
    {
      type: "interactive",
      interactive: { type: "call_permission_reply", call_permission_reply: { response: "accept" } },
    },
    ["call permission reply", "accept"],
  ),
  wa({ type: "button", button: { payload: "p", text: "No" } }, [], { own: "No" }),
  wa({ type: "text", text: { body: "/reset" }, context: { forwarded: true } }, ["/reset", "forwarded"], {
    own: "",
    origins: ["guest:whatsapp/unknown"],
  }),
  wa({ type: "text", text: { body: "chain" }, context: { frequently_forwarded: true } }, ["chain"], {
    own: "",
    origins: ["guest:whatsapp/unknown"],
  }),
  wa({ type: "text", text: { body: "yes" }, context: { from: "1", id: "wamid.Q" } }, ["wamid.Q"], {
    own: "yes",
  }),
  wa(
    {
      text: { body: "this?" },
      context: {
        from: "1",
        id: "wamid.Q",
        referred_product: { catalog_id: "c1", product_retailer_id: "p1" },
      },
    },
    ["c1", "p1"],
    { own: "this?" },
  ),
  wa(
    {
      text: { body: "hi" },
      referral: { source_url: "https://ad.example/1", headline: "Sale", body: "Half price" },
    },
    ["https://ad.example/1", "Sale", "Half price"],
    { own: "hi", origins: ["web:ad.example"] },
  ),
  wa({ type: "unsupported", errors: [{ code: 131_051, title: "Message type unknown" }] }, [
    "131051",
    "unknown",
  ]),
  wa({ type: "group_invite", group_invite: { code: "abc" } }, ["group invite", "abc"]),
];

const sl = (
  name: string,
  fields: Record<string, unknown>,
  values: string[],
  rest: Partial<Unusual> = {},
) => ({
  name: `slack ${name}`,
  body: directMessage(String(fields.text ?? ""), fields),
  values,
  ...rest,
});
const rich = (...elements: object[]) => [{ type: "rich_text", block_id: "b", elements }];
const section = (...elements: object[]) => ({ type: "rich_text_section", elements });
const words = (text: string) => ({ type: "text", text });
const link = { type: "link", url: "https://l.example", text: "docs" };

const slack: Unusual[] = [
  sl("rich text only", { blocks: rich(section(words("only "), link, { type: "emoji", name: "wave" })) }, [], {
    own: "only docs (https://l.example):wave:",
  }),
  sl(
    "section block only",
    { blocks: [{ type: "section", text: { type: "mrkdwn", text: "a &lt; b" } }] },
    [],
    { own: "a < b" },
  ),
  sl("image block", { blocks: [{ type: "image", image_url: "https://i.example/1.png", alt_text: "cat" }] }, [
    ...["https://i.example/1.png", "cat"],
  ]),
  sl("block without words", { blocks: [{ type: "new_thing" }] }, ["new_thing"]),
  sl(
    "shared message",
    {
      attachments: [
        {
          ...{
            is_share: true,
            is_msg_unfurl: true,
            author_id: "U9",
            author_name: "Bob",
            channel_name: "general",
          },
          ...{
            ts: "1780000000.1",
            text: "/reset",
            from_url: "https://s.example/p1",
            fallback: "[Bob] /reset",
          },
          files: [{ id: "F9", name: "a.png", mimetype: "image/png", mode: "hosted" }],
        },
      ],
    },
    ["/reset", "Bob", "#general", "https://s.example/p1", "F9"],
    { own: "", origins: ["guest:slack/U9"] },
  ),
  sl(
    "preview of a page",
    {
      text: "<https://p.example/a>",
      attachments: [{ from_url: "https://p.example/a", service_name: "P", title: "Title", text: "Words" }],
    },
    ["Title", "Words"],
    { own: "https://p.example/a", origins: ["web:p.example"] },
  ),
  sl(
    "card with fields",
    { attachments: [{ pretext: "Build", fields: [{ title: "State", value: "red" }], footer: "ci" }] },
    ["Build", "State: red", "ci"],
    { origins: ["unknown"] },
  ),
  sl(
    "quotation in rich text",
    {
      text: "&gt; look /t:high\nwhat?",
      blocks: rich({ type: "rich_text_quote", elements: [words("look /t:high")] }, section(words("what?"))),
    },
    ["look /t:high"],
    { own: "what?" },
  ),
];

const target = (name: string, message: object, values: string[], origins = ["guest:discord/7"]) => {
  const author = { id: "7", username: "bob" };
  const body = messageCommand({ content: "", author, attachments: [], ...message });
  return { name: `discord ${name}`, body, values: ["bob", ...values], own: "", origins };
};

const discord: Unusual[] = [
  target("command in a message", { content: "/reset" }, ["/reset"]),
  target(
    "embed",
    {
      embeds: [
        {
          ...{ title: "Title", description: "Words", url: "https://e.example/a", author: { name: "Zoe" } },
          ...{
            fields: [{ name: "State", value: "red" }],
            footer: { text: "foot" },
            image: { url: "https://e.example/i.png" },
          },
        },
      ],
    },
    ["Title", "Words", "https://e.example/a", "Zoe", "State: red", "foot", "https://e.example/i.png"],
    ["guest:discord/7", "web:e.example"],
  ),
  target("sticker", { sticker_items: [{ id: "55", name: "Wave", format_type: 1 }] }, [
    "Wave",
    "stickers/55.png",
  ]),
  target("poll", { poll: { question: { text: "Lunch?" }, answers: [{ poll_media: { text: "Soup" } }] } }, [
    "Lunch?",
    "Soup",
  ]),
  target("forwarded message", { message_snapshots: [{ message: { content: "far /reset" } }] }, [
    "far /reset",
  ]),
  {
    name: "discord text with a file",
    body: directCommand("", {
      data: {
        ...{
          name: "gsv",
          type: 1,
          options: [
            { name: "message", type: 3, value: "look" },
            { name: "file", type: 11, value: "1" },
          ],
        },
        resolved: { attachments: { "1": { id: "1", filename: "a.png", url: "https://cdn.example/a.png" } } },
      },
    }),
    values: ["a.png", "https://cdn.example/a.png"],
    own: "look",
  },
];

/** Messages that are more than text, each with the values that must not be lost. */
export const unusualMessages = { telegram, whatsapp, slack, discord };
