import type { ChannelName } from "../../../shared/channels/channels.ts";
import { buttonPress, directCommand, fileCommand, guildCommand } from "./discord/discord-interactions.ts";
import { discordLabels, findMessage, tooManyRequests } from "./discord/discord-methods.ts";
import { startDiscordServer } from "./discord/discord-server.ts";
import type { PlatformCall, PlatformFailure, SharedFile } from "./platform-server.ts";
import { appMention, channelMessage, directMessage, slackPress } from "./slack/slack-events.ts";
import { slackFile } from "./slack/slack-files.ts";
import { slackLabels, startSlackServer } from "./slack/slack-server.ts";
import { startTelegramServer } from "./telegram/telegram-server.ts";
import {
  documentUpdate,
  groupUpdate,
  photoUpdate,
  pressUpdate,
  type TelegramUpdate,
  textUpdate,
  voiceUpdate,
} from "./telegram/telegram-updates.ts";
import { whatsappFile } from "./whatsapp/whatsapp-media.ts";
import { notify, whatsappMessage, whatsappPress } from "./whatsapp/whatsapp-notifications.ts";
import { graphError, startWhatsappServer } from "./whatsapp/whatsapp-server.ts";

/** How a platform refuses the next message: rate limit, server error, or permanently. */
export type Refusal = "busy" | "down" | "never";

let lastFile = 0;

/** A platform's server with the same interface for all of them. */
export interface Platform {
  name: string;
  /** URL of the platform's API. */
  url: string;
  /** Settings and secrets of the server's account. */
  account: Record<string, string>;
  /** Two users, by the platform's ids. */
  people: { ann: string; bob: string };
  /** Longest text of one message. */
  maxText: number;
  /** Makes the event of a direct message to the agent. */
  direct(text: string, from?: string): object;
  /** Makes the event of a file in a direct message. The platform stores the file. */
  attach(text: string, file: SharedFile, from?: string): object;
  /** How often a file was downloaded. */
  downloads(): number;
  /** Deletes all files on the platform. */
  loseFiles(): void;
  /** Makes the event of Ann's message to the agent in a room. Undefined if the agent is in no room. */
  inRoom?(text: string): object;
  /** Makes the event of Ann's message to others in that room. Undefined if it is not delivered. */
  aside?(text: string): object;
  /** Session key of the room, for the agent `main`. */
  room?: string;
  /** Signs and delivers an event. @returns the HTTP status, and the body of the answer */
  deliver(webhookUrl: string, event: object, account?: string): Promise<{ status: number; text: string }>;
  /** Texts that users received, oldest first. */
  answers(): string[];
  /** Files that users received, oldest first. */
  received(): File[];
  /** Matches the calls that send a message: `{method} {url} {body}`. */
  sends: RegExp;
  /** Clears the received messages. */
  forget(): void;
  /** Whether the platform repeats an event that was not accepted. */
  redelivers: boolean;
  /** How often "typing" was shown; undefined if the platform cannot show it. */
  typing?(): number;
  /** How many answers are still shown as pending. Other platforms' "typing" expires. */
  awaiting(): number;
  /** Refuses the next messages, one for each. `busy` asks for a pause of a second. */
  refuse(...how: Refusal[]): void;
  /** Buttons under questions. Undefined if the agent does not use them on this platform. */
  buttons?: {
    /** The questions that were sent, as users see them now. */
    questions(): { text: string; labels: string[] }[];
    /** Makes the event of Ann's or somebody else's press of a button that the newest question had when it was sent. */
    press(label: string, from?: string): object;
    /** What was shown to those who pressed, oldest first. */
    told(): string[];
    /** The account's field that verifies requests. */
    secret: string;
    /** The platform cannot change a message; a press is answered by another one. */
    areFixed?: true;
  };
  /** A part of the platform's error for `never`. */
  neverReason: string;
  close(): Promise<void>;
}

export async function startTelegram(): Promise<Platform> {
  const webhookSecret = "the-secret_that-setWebhook-was-given";
  const server = await startTelegramServer({ local: true });
  const failures = {
    busy: { retryAfter: 1 },
    down: { status: 502, description: "Bad Gateway" },
    never: { status: 403, description: "Forbidden: bot was blocked by the user" },
  };
  return {
    name: "telegram",
    neverReason: "blocked",
    sends: /sendMessage /,
    url: server.url,
    account: { botToken: server.token, webhookSecret, apiBaseUrl: server.url },
    people: { ann: "5001002003", bob: "5001002004" },
    maxText: 4096,
    direct: (text, from = "5001002003") => textUpdate(text, { from: { id: Number(from) } }),
    attach(text, { name, type, bytes, voice }, from = "5001002003") {
      const id = `file-${++lastFile}`;
      server.addFile(id, { path: `documents/${id}.bin`, bytes });
      const [kind] = type.split("/");
      const options = { from: { id: Number(from) } };
      if (voice) return voiceUpdate(id, 3, options);
      if (kind === "image") return photoUpdate(id, text || undefined, options);
      return documentUpdate(
        id,
        { name, mimeType: type, size: bytes.length, caption: text || undefined },
        options,
      );
    },
    downloads: () => server.calls.filter(({ method }) => method === "getFile").length,
    loseFiles: () => server.removeFiles(),
    inRoom: (text) => groupUpdate(`@${server.bot.username} ${text}`),
    aside: groupUpdate,
    room: "agent:main:telegram:group:-1001234567890",
    deliver: (webhookUrl, event, account = "default") =>
      server.deliver(event as TelegramUpdate, {
        url: `${webhookUrl}/telegram/${account}`,
        secret: webhookSecret,
      }),
    answers: () => server.sent.flatMap(({ text }) => text ?? []),
    received: () => server.uploads.map(({ file }) => file),
    forget() {
      server.sent.splice(0);
      server.pressed.clear();
      server.asked.splice(0);
    },
    redelivers: true,
    typing: () => server.calls.filter(({ method }) => method === "sendChatAction").length,
    awaiting: () => 0,
    refuse: (...how) => server.fail("sendMessage", ...how.map((one) => failures[one])),
    buttons: {
      secret: "webhookSecret",
      questions: () =>
        server.asked.map(({ message_id }) => {
          const { text = "", reply_markup } = server.sent.find((one) => one.message_id === message_id)!;
          return { text, labels: reply_markup?.inline_keyboard.flat().map((button) => button.text) ?? [] };
        }),
      press: (label, from = "5001002003") =>
        pressUpdate(server.asked.at(-1)!, label, { from: { id: Number(from) } }),
      told: () => [...server.pressed.values()].flatMap((text) => text ?? []),
    },
    close: server.close,
  };
}

export async function startWhatsapp(): Promise<Platform> {
  const server = await startWhatsappServer();
  const { accessToken, appSecret, phoneNumberId } = server;
  const failures: Record<Refusal, PlatformFailure> = {
    busy: { ...graphError(429, 130429, "Rate limit hit"), headers: { "retry-after": "1" } },
    down: { status: 502, body: "<html>" },
    never: graphError(400, 131026, "Message undeliverable"),
  };
  return {
    name: "whatsapp",
    neverReason: "undeliverable",
    sends: /"(?:to|recipient)":/,
    url: server.url,
    account: { accessToken, appSecret, phoneNumberId, verifyToken: "a-text", apiBaseUrl: server.url },
    people: { ann: "16505551234", bob: "447700900123" },
    maxText: 4096,
    direct: (text, from = "16505551234") => notify({ ...whatsappMessage(text), from }),
    attach(text, file, from = "16505551234") {
      const id = String(1_003_383_421_000_000 + ++lastFile);
      server.media.set(id, file);
      return notify({ ...whatsappMessage(whatsappFile(id, file, text)), from });
    },
    downloads: () => server.calls.filter(({ method }) => method === "GET").length,
    loseFiles: () => server.media.clear(),
    deliver: (webhookUrl, event, account = "default") =>
      server.deliver(webhookUrl, event, `/whatsapp/${account}`),
    answers: () => server.sent.flatMap(({ text, file }) => (file ? [] : [text])),
    received: () => server.sent.flatMap(({ file }) => file ?? []),
    forget: () => void server.sent.splice(0),
    redelivers: true,
    typing: () => server.typing.length,
    awaiting: () => 0,
    buttons: {
      secret: "appSecret",
      areFixed: true,
      questions: () =>
        server.sent.flatMap(({ text, buttons }) =>
          buttons ? [{ text, labels: buttons.map(({ title }) => title) }] : [],
        ),
      press: (label, from = "16505551234") =>
        whatsappPress(server.sent.findLast(({ buttons }) => buttons)!, label, from),
      told: () => server.sent.flatMap(({ text, buttons }) => (buttons ? [] : [text])),
    },
    // This endpoint also marks a message as read.
    refuse: (...how) => server.fail(({ body }) => body?.type === "text", ...how.map((one) => failures[one])),
    close: server.close,
  };
}

export async function startSlack(): Promise<Platform> {
  const server = await startSlackServer();
  const { botToken, signingSecret, botUser } = server;
  const failures: Record<Refusal, PlatformFailure> = {
    busy: { status: 429, body: { ok: false, error: "ratelimited" }, headers: { "retry-after": "1" } },
    down: { status: 503, body: "<html>" },
    never: { status: 200, body: { ok: false, error: "is_archived" } },
  };
  return {
    name: "slack",
    neverReason: "archived",
    sends: /chat\.postMessage /,
    url: server.url,
    account: { botToken, signingSecret, apiBaseUrl: server.url },
    people: { ann: "U061F7AUR", bob: "U0BOB0BOB" },
    maxText: 4000,
    direct: (text, user = "U061F7AUR") => directMessage(text, { user, channel: `D0${user.slice(2)}` }),
    attach(text, file, user = "U061F7AUR") {
      const id = `F0${++lastFile}`;
      server.files.set(id, file);
      const files = [slackFile(id, file, server.url)];
      return directMessage(text, { user, channel: `D0${user.slice(2)}`, subtype: "file_share", files });
    },
    downloads: () => server.calls.filter(({ method }) => method === "GET").length,
    loseFiles: () => server.files.clear(),
    inRoom: (text) => appMention(`<@${botUser}> ${text}`),
    aside: channelMessage,
    room: "agent:main:slack:channel:c0lan2q65",
    deliver: (webhookUrl, event, account = "default") =>
      server.deliver(webhookUrl, event, `/slack/${account}`),
    answers: () => server.posted.map(({ text }) => text),
    received: () => server.uploads.flatMap(({ channel, file }) => (channel && file ? [file] : [])),
    forget() {
      for (const list of [server.posted, server.asked, server.whispered]) list.splice(0);
    },
    redelivers: true,
    buttons: {
      secret: "signingSecret",
      questions: () =>
        server.asked.map(({ ts }) => {
          const now = server.posted.find((one) => one.ts === ts)!;
          return { text: now.blocks?.[0]?.text?.text ?? "", labels: slackLabels(now) };
        }),
      press: (label, from = "U061F7AUR") => slackPress(server.asked.at(-1)!, label, from),
      told: () => server.whispered.map(({ text }) => text),
    },
    awaiting: () => 0,
    refuse: (...how) => server.fail("chat.postMessage", ...how.map((one) => failures[one])),
    close: server.close,
  };
}

const isDiscordSend = ({ method, path }: PlatformCall) => method !== "GET" && !path.endsWith("/typing");

export async function startDiscord(): Promise<Platform> {
  const server = await startDiscordServer();
  const { botToken, applicationId, publicKey } = server;
  const failures: Record<Refusal, PlatformFailure> = {
    busy: tooManyRequests(1),
    down: { status: 502, body: "<html>" },
    never: { status: 403, body: { code: 50001, message: "Missing Access" } },
  };
  return {
    name: "discord",
    neverReason: "Access",
    sends: /^(?:POST|PATCH) .*\/(?:messages|webhooks)/,
    url: server.url,
    account: { botToken, applicationId, publicKey, apiBaseUrl: server.url },
    people: { ann: "53908232506183680", bob: "53908232506183681" },
    maxText: 2000,
    direct: (text, id = "53908232506183680") =>
      directCommand(text, { channel_id: `7${id}`, user: { id, username: "someone", discriminator: "0" } }),
    attach(text, file, id = "53908232506183680") {
      const { name: filename, type: content_type, bytes } = file;
      const path = `/ephemeral-attachments/1/${++lastFile}/${encodeURIComponent(filename)}`;
      server.files.set(path, file);
      const sent = {
        id: String(lastFile),
        filename,
        content_type,
        size: bytes.length,
        url: `${server.url}${path}`,
      };
      const voice = file.voice ? { duration_secs: 3.2, waveform: "FzYACgAAAAAAACQAAA==" } : {};
      const user = { id, username: "someone", discriminator: "0" };
      return { ...fileCommand(text, { ...sent, ...voice }), channel_id: `7${id}`, user };
    },
    downloads: () => server.calls.filter(({ path }) => path.startsWith("/ephemeral-attachments/")).length,
    loseFiles: () => server.files.clear(),
    inRoom: guildCommand,
    room: "agent:main:discord:channel:645027906669510999",
    deliver: (webhookUrl, event, account = "default") =>
      server.deliver(webhookUrl, event, `/discord/${account}`),
    answers: () => server.shown(),
    received: () => server.uploads,
    forget() {
      server.interactions.clear();
      for (const list of [server.messages, server.asked, server.told]) list.length = 0;
    },
    redelivers: false,
    buttons: {
      secret: "publicKey",
      questions: () =>
        server.asked.map(({ id }) => {
          const now = findMessage(server, id)!;
          return { text: now.content, labels: discordLabels(now) };
        }),
      press: (label, from = "53908232506183680") => buttonPress(server.asked.at(-1)!, label, from),
      told: () => server.told,
    },
    typing: () => server.interactions.size,
    awaiting: () =>
      [...server.interactions.values()].filter(({ original }) => original.content === "").length,
    refuse: (...how) => server.fail(isDiscordSend, ...how.map((one) => failures[one])),
    close: server.close,
  };
}

/** Starts each platform. */
export const platformStarts: Record<ChannelName, () => Promise<Platform>> = {
  telegram: startTelegram,
  whatsapp: startWhatsapp,
  slack: startSlack,
  discord: startDiscord,
};

export const platformNames = Object.keys(platformStarts) as ChannelName[];

/** The configuration of all platforms, with one account each. */
export function channelsOf(platforms: readonly Platform[], settings: object): Record<string, object> {
  return Object.fromEntries(
    platforms.map(({ name, account, people }) => {
      const owners = Object.values(people);
      return [name, { owners, ...settings, accounts: { default: account } }];
    }),
  );
}
