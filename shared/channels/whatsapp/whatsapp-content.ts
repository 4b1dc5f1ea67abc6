import * as v from "valibot";
import { remoteMedia } from "../content/content.ts";
import type { ForwardedPart, Part } from "../content/part.ts";

const text = v.optional(v.string());
const file = v.object({
  id: v.string(),
  mime_type: text,
  caption: text,
  filename: text,
  /** For audio: a voice message. */
  voice: v.optional(v.boolean()),
});
const media = v.optional(file);
const choice = v.optional(v.object({ id: text, title: text, description: text }));
const strings = v.record(v.string(), v.unknown());

/**
 * The content fields that are read of a message
 * (https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages). `type` names
 * the field that is present.
 */
export const whatsappContent = {
  text: v.optional(v.object({ body: v.string() })),
  image: media,
  audio: media,
  video: media,
  document: media,
  sticker: media,
  location: v.optional(
    v.object({ latitude: v.number(), longitude: v.number(), name: text, address: text, url: text }),
  ),
  contacts: v.optional(
    v.array(
      v.object({
        name: v.optional(v.object({ formatted_name: text })),
        phones: v.optional(v.array(v.object({ phone: text, type: text })), []),
        emails: v.optional(v.array(v.object({ email: text })), []),
        urls: v.optional(v.array(v.object({ url: text })), []),
        addresses: v.optional(v.array(strings), []),
        org: v.optional(strings),
        birthday: text,
      }),
    ),
  ),
  order: v.optional(
    v.object({
      catalog_id: text,
      text,
      product_items: v.optional(
        v.array(
          v.object({
            product_retailer_id: text,
            quantity: v.optional(v.union([v.number(), v.string()])),
            item_price: v.optional(v.union([v.number(), v.string()])),
            currency: text,
          }),
        ),
        [],
      ),
    }),
  ),
  button: v.optional(v.object({ text: text })),
  interactive: v.optional(
    v.looseObject({
      type: text,
      button_reply: choice,
      list_reply: choice,
      nfm_reply: v.optional(v.object({ name: text, body: text, response_json: text })),
    }),
  ),
  errors: v.optional(v.array(v.object({ code: v.optional(v.number()), title: text }))),
};

const contentSchema = v.looseObject({ type: v.string(), ...whatsappContent });
export type WhatsappContent = v.InferOutput<typeof contentSchema>;

/** Messages that need no answer: a change of a number, a deletion, a reaction. */
const notices = ["system", "revoke", "reaction", "edit"];

/** The parts of a message's own content. Empty for a notice. */
export function partsOfContent(fields: WhatsappContent): ForwardedPart[] {
  const { type, button, interactive, location, contacts = [], order } = fields;
  switch (type) {
    case "text":
      return words(fields.text?.body);
    case "image":
    case "video":
    case "document":
    case "audio":
    case "sticker":
      return fileParts(type, fields[type]);
    case "location":
      return location ? placeParts(location) : [{ kind: "place" }];
    case "button":
      return words(button?.text);
    case "interactive":
      return interactive ? interactiveParts(interactive) : [];
    case "contacts":
      return contacts.map(contactPart);
    case "order":
      return order ? orderParts(order) : [{ kind: "order", items: [] }];
    case "unsupported":
      return [
        { kind: "other", name: "message of a kind that WhatsApp does not pass on", ...errorsOf(fields) },
      ];
    default:
      return notices.includes(type) ? [] : [unknown(type, fields[type])];
  }
}

const words = (written: string | undefined): ForwardedPart[] =>
  written ? [{ kind: "text", text: written }] : [];

/** Content that this reader has no kind for, with its values. */
function unknown(name: string, values: unknown): ForwardedPart {
  const lines = values === undefined ? [] : [JSON.stringify(values).slice(0, 2000)];
  return { kind: "other", name: name.replaceAll("_", " "), lines };
}

function errorsOf({ errors = [] }: WhatsappContent): { lines?: string[] } {
  const lines = errors.map(({ code, title }) => [code, title].filter(Boolean).join(" "));
  return lines.length > 0 ? { lines } : {};
}

function fileParts(type: string, found: v.InferOutput<typeof media>): ForwardedPart[] {
  if (!found) return [{ kind: "other", name: type }];
  const { id, mime_type: mimeType, filename, voice, caption } = found;
  return [
    ...words(caption),
    { kind: "media", media: remoteMedia({ mediaId: id }, { mimeType, filename, voice: voice || null }) },
    ...(type === "sticker" ? [{ kind: "sticker" as const }] : []),
  ];
}

function placeParts({ url, ...place }: NonNullable<WhatsappContent["location"]>): ForwardedPart[] {
  return [{ kind: "place", ...place }, ...(url ? [{ kind: "link" as const, url }] : [])];
}

function interactiveParts(found: NonNullable<WhatsappContent["interactive"]>): ForwardedPart[] {
  const { type = "reply", button_reply, list_reply, nfm_reply } = found;
  const chosen = button_reply ?? list_reply;
  if (chosen)
    return [
      ...words(chosen.title),
      ...(chosen.description ? [{ kind: "other" as const, name: "chosen", detail: chosen.description }] : []),
    ];
  // The answers to a flow, which is a form.
  if (nfm_reply) {
    const { name, body, response_json } = nfm_reply;
    const lines = [body, response_json]
      .filter((line) => line !== undefined)
      .map((line) => line.slice(0, 2000));
    return [{ kind: "other", name: "form", detail: name, lines }];
  }
  return [unknown(type, found[type])];
}

function contactPart(contact: NonNullable<WhatsappContent["contacts"]>[number]): ForwardedPart {
  const { name, phones, emails, urls, addresses, org = {}, birthday } = contact;
  const values = (record: Record<string, unknown>) =>
    Object.values(record).filter((value) => typeof value === "string" && value !== "");
  const details = [
    ...phones.map(({ phone, type }) => ["phone", phone, type && `(${type})`].filter(Boolean).join(" ")),
    ...emails.map(({ email }) => `email ${email}`),
    ...[values(org).join(" · ")],
    ...addresses.map((address) => values(address).join(" ")),
    ...urls.map(({ url }) => url ?? ""),
    birthday === undefined ? "" : `birthday ${birthday}`,
  ];
  return { kind: "contact", name: name?.formatted_name, details: details.filter((detail) => detail !== "") };
}

function orderParts({
  catalog_id,
  text,
  product_items,
}: NonNullable<WhatsappContent["order"]>): ForwardedPart[] {
  const items = product_items.map(({ quantity, product_retailer_id, item_price, currency }) =>
    [`${quantity ?? 1} ×`, product_retailer_id, item_price && `at ${item_price}`, currency]
      .filter(Boolean)
      .join(" "),
  );
  return [...words(text), { kind: "order", catalog: catalog_id, items }];
}

/** The fields that are read of a message's surroundings. */
export const whatsappSurroundings = {
  context: v.optional(
    v.object({
      id: text,
      forwarded: v.optional(v.boolean()),
      frequently_forwarded: v.optional(v.boolean()),
      referred_product: v.optional(v.object({ catalog_id: text, product_retailer_id: text })),
    }),
  ),
  /** The advertisement or post through which the sender came. */
  referral: v.optional(v.object({ source_url: text, headline: text, body: text })),
};
const surroundingsSchema = v.object(whatsappSurroundings);

/** All parts of a message: its content, as a forwarded message if it is one, and what it refers to. */
export function partsOfMessage(fields: WhatsappContent & v.InferOutput<typeof surroundingsSchema>): Part[] {
  const { context = {}, referral } = fields;
  const content = partsOfContent(fields);
  if (content.length === 0) return [];
  const isForwarded = context.forwarded || context.frequently_forwarded;
  const parts: Part[] = isForwarded ? [{ kind: "forward", parts: content }] : content;
  const { id, referred_product: product } = context;
  if (id !== undefined) parts.push({ kind: "quote", of: id });
  if (product) {
    const detail = [product.product_retailer_id, product.catalog_id && `in catalog ${product.catalog_id}`];
    parts.push({ kind: "other", name: "about the product", detail: detail.filter(Boolean).join(" ") });
  }
  if (referral) {
    const preview = [referral.headline, referral.body].filter(Boolean).join("\n");
    parts.push({ kind: "link", label: "came through", url: referral.source_url, preview });
  }
  return parts;
}
