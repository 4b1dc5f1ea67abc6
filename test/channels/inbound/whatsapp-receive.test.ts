import { describe, expect, it } from "vitest";
import { createWhatsapp } from "../../../shared/channels/whatsapp/whatsapp.ts";
import {
  changeOf,
  notificationOf,
  notify,
  type WhatsappMessage,
  whatsappMessage,
} from "../../support/platforms/whatsapp/whatsapp-notifications.ts";
import { signMeta } from "../../support/platforms/whatsapp/whatsapp-server.ts";

const appSecret = "0c1d2e3f4a5b6c7d8e9f00112233445566";
const whatsapp = createWhatsapp({ now: () => 1_780_000_000_000 });
const account = {
  accountId: "default",
  settings: { phoneNumberId: "106540352242922" },
  secrets: { appSecret, accessToken: "EAAJB", verifyToken: "v" },
};

const receive = (body: string, method = "POST") => {
  const { headers } = signMeta(appSecret, body);
  return whatsapp.receive({ method, headers, query: {}, body: Buffer.from(body) }, account);
};

async function readAll(notification: object) {
  const received = await receive(JSON.stringify(notification));
  if (received.status !== "messages") throw new Error(`not taken: ${JSON.stringify(received)}`);
  return received.messages;
}
const read = async (message: WhatsappMessage) => (await readAll(notify(message)))[0];

describe("a call of WhatsApp's webhook", () => {
  it("is refused for another method, or when it is not a notification", async () => {
    expect(await receive("{}", "PUT")).toMatchObject({ status: "refused", httpStatus: 405 });
    const bad = [
      ...["", "{", "null", "[]", "7", "{}", '{"object":"page","entry":[]}'],
      '{"object":"whatsapp_business_account"}',
      '{"object":"whatsapp_business_account","entry":[{"id":"1"}]}',
      '{"object":"whatsapp_business_account","entry":[{"changes":[{}]}]}',
    ];
    for (const body of bad)
      expect(await receive(body), body).toMatchObject({ status: "refused", httpStatus: 400 });
  });

  it("may have nothing to read, in parts or at all", async () => {
    const nothing = [
      notificationOf(),
      notificationOf(changeOf({})),
      notificationOf({ field: "messages" }, { field: "messages", value: "text" }),
      notificationOf({ field: "template_category_update", value: { messages: [whatsappMessage("x")] } }),
      notificationOf(changeOf({ messages: [whatsappMessage("for another number")] }, "1")),
    ];
    for (const notification of nothing) expect(await readAll(notification)).toEqual([]);
  });
});

describe("a message of WhatsApp", () => {
  it("has the sender, the time, and the message that it answers", async () => {
    const message = {
      ...whatsappMessage("hello\n  there"),
      timestamp: "1780000000",
      context: { from: "15550783881", id: "wamid.HBgL0" },
    };
    expect(await read(message)).toEqual({
      eventId: message.id,
      peer: { kind: "dm", id: "16505551234", name: "Ann Example" },
      sender: { id: "16505551234", name: "Ann Example" },
      messageId: message.id,
      text: "hello\n  there",
      timestamp: 1_780_000_000_000,
      replyToId: "wamid.HBgL0",
      wasMentioned: false,
    });
    const stranger = { ...whatsappMessage("forwarded"), from: "447700900123", context: { forwarded: true } };
    const found = await read(stranger);
    expect(found).toMatchObject({ peer: { id: "447700900123" }, sender: { id: "447700900123" } });
    expect(found).not.toHaveProperty("replyToId");
    expect(found?.sender).not.toHaveProperty("name");
  });

  it("has media next to the caption", async () => {
    const media = (mime_type: string) => ({ id: "1003383421387256", mime_type, sha256: "…" });
    const [jpeg, mp4, opus] = [media("image/jpeg"), media("video/mp4"), media("audio/ogg; codecs=opus")];
    const pdf = { ...media("application/pdf"), filename: "plan.pdf" };
    const source = { mediaId: "1003383421387256" };
    const expected: [Record<string, unknown>, string, object][] = [
      [{ type: "image", image: jpeg }, "", { type: "image", mimeType: "image/jpeg", source }],
      [{ type: "image", image: { ...jpeg, caption: "look" } }, "look", { type: "image" }],
      [{ type: "video", video: { ...mp4, caption: "see" } }, "see", { type: "video" }],
      [
        { type: "audio", audio: { ...opus, voice: true } },
        "",
        { type: "audio", mimeType: "audio/ogg; codecs=opus", voice: true },
      ],
      [{ type: "document", document: pdf }, "", { type: "document", filename: "plan.pdf" }],
    ];
    for (const [content, text, attachment] of expected)
      expect(await read(whatsappMessage(content))).toMatchObject({ text, attachments: [attachment] });
    const song = await read(whatsappMessage({ type: "audio", audio: { ...opus, voice: false } }));
    expect(song?.attachments?.[0]).not.toHaveProperty("voice");
  });

  it("has a note about content that is neither text nor a file", async () => {
    const media = { id: "1003383421387256", mime_type: "image/webp", sha256: "…" };
    const expected: [Record<string, unknown>, string][] = [
      [{ type: "sticker", sticker: { ...media, animated: false } }, "[sticker]"],
      [{ type: "location", location: { latitude: 52.37, longitude: 4.9 } }, "[location: 52.37, 4.9]"],
      [{ type: "contacts", contacts: [{ name: { formatted_name: "Bob" } }] }, "[contact: Bob]"],
      [
        { type: "unsupported", errors: [{ code: 131051 }] },
        "[message of a kind that WhatsApp does not pass on]\n> 131051",
      ],
    ];
    for (const [content, shown] of expected)
      expect(await read(whatsappMessage(content))).toMatchObject({ text: "", shown });
  });

  it("may be a choice from a list", async () => {
    const chosen = (interactive: object) => whatsappMessage({ type: "interactive", interactive });
    const button = { type: "button_reply", button_reply: { id: "1", title: "Yes" } };
    const list = { type: "list_reply", list_reply: { id: "1", title: "Tuesday", description: "noon" } };
    expect((await read(chosen(button)))?.text).toBe("Yes");
    expect((await read(chosen(list)))?.text).toBe("Tuesday");
    const quick = whatsappMessage({ type: "button", button: { payload: "p", text: "No" } });
    expect((await read(quick))?.text).toBe("No");
  });

  it("that does not concern the agent is accepted and ignored", async () => {
    const nothing = [
      whatsappMessage({ type: "reaction", reaction: { message_id: "wamid.1", emoji: "👍" } }),
      whatsappMessage({ type: "system", system: { type: "user_changed_number", body: "…" } }),
      whatsappMessage({ type: "text" }),
      whatsappMessage({ type: "text", text: { body: "" } }),
      { ...whatsappMessage("no sender"), from: undefined },
      { ...whatsappMessage("no moment"), timestamp: "soon" },
      { ...whatsappMessage("of a group"), group_id: "Y2FwaV9ncm91cDox" },
    ];
    for (const message of nothing) expect(await read(message as WhatsappMessage)).toBeUndefined();
  });
});
