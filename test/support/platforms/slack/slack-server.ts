import { createHmac } from "node:crypto";
import {
  callWebhook,
  type PlatformCall,
  type PlatformReply,
  type PlatformServer,
  type SignedRequest,
  startPlatformServer,
  type WebhookReply,
} from "../platform-server.ts";
import { blockFault, labelOf, type SlackBlock, slackButtons } from "./slack-blocks.ts";
import { answerDownload, answerUpload, type SlackFiles, type SlackUpload } from "./slack-files.ts";

/** A message that the bot posted. */
export interface SlackPost {
  channel: string;
  text: string;
  ts: string;
  thread_ts?: string;
  blocks?: SlackBlock[];
}

/** The labels of a message's buttons. */
export function slackLabels(post: Pick<SlackPost, "blocks">): string[] {
  return slackButtons(post).map(labelOf);
}

export interface SlackServer extends PlatformServer {
  botToken: string;
  signingSecret: string;
  botUser: string;
  posted: SlackPost[];
  /** Messages with buttons, as they were posted. */
  asked: SlackPost[];
  /** Texts that only one user sees. */
  whispered: { user: string; text: string }[];
  /** What was shown below threads: `{channel}/{thread} {status}`. */
  statuses: string[];
  /** Channels that the bot is not in. */
  closed: Set<string>;
  /** The bot's reactions: `{channel}/{ts}/{name}`. */
  reactions: Set<string>;
  /** Files that users shared. */
  files: SlackFiles;
  /** Files that the bot uploaded. */
  uploads: SlackUpload[];
  /** Signs a call of the Events API as Slack does. @param at epoch seconds; by default now */
  sign(body: object, at?: number): SignedRequest;
  /** Posts it to a webhook, by default `/slack/default`. */
  deliver(webhookUrl: string, body: object, path?: string): Promise<WebhookReply>;
}

/** Slack's Web API and Events API on 127.0.0.1 (reference: https://docs.slack.dev). */
export async function startSlackServer(): Promise<SlackServer> {
  const botToken = "xoxb-1234567890-0987654321-testTokenOfABot";
  const signingSecret = "5f2d0c7a9be84b1fa3c6d8e7f0a1b2c3";
  const posted: SlackPost[] = [];
  const asked: SlackPost[] = [];
  const whispered: SlackServer["whispered"] = [];
  const statuses: string[] = [];
  const closed = new Set<string>();
  const reactions = new Set<string>();
  const files: SlackFiles = new Map();
  const uploads: SlackUpload[] = [];
  const server = await startPlatformServer((call) =>
    answer(call, { botToken, posted, asked, whispered, statuses, closed, reactions, files, uploads }),
  );
  const sign: SlackServer["sign"] = (body, at = Math.floor(Date.now() / 1000)) => {
    // Interactions come as a form.
    if (!("actions" in body)) return signSlack(signingSecret, JSON.stringify(body), at);
    const signed = signSlack(
      signingSecret,
      String(new URLSearchParams({ payload: JSON.stringify(body) })),
      at,
    );
    return { ...signed, headers: { ...signed.headers, "content-type": "application/x-www-form-urlencoded" } };
  };
  return {
    ...server,
    botToken,
    signingSecret,
    botUser: "U0LAN0Z89",
    posted,
    asked,
    whispered,
    statuses,
    closed,
    reactions,
    files,
    uploads,
    sign,
    deliver: (webhookUrl, body, path = "/slack/default") => callWebhook(webhookUrl, { ...sign(body), path }),
  };
}

export function signSlack(secret: string, body: string, at: number): SignedRequest {
  const signature = createHmac("sha256", secret).update(`v0:${at}:${body}`).digest("hex");
  return {
    method: "POST",
    path: "/slack/default",
    headers: {
      "content-type": "application/json",
      "x-slack-request-timestamp": String(at),
      "x-slack-signature": `v0=${signature}`,
    },
    body,
  };
}

interface State extends Pick<SlackServer, "posted" | "asked" | "whispered" | "statuses" | "reactions"> {
  botToken: string;
  closed: Set<string>;
  files: SlackFiles;
  uploads: SlackUpload[];
}

/** Every answer has the status 200; the body contains the error. */
function answer(call: PlatformCall, state: State): PlatformReply {
  const ofFiles =
    answerDownload(call, state.files, state.botToken) ?? answerUpload(call, state.uploads, state.botToken);
  if (ofFiles) return ofFiles;
  const methods: Record<string, (body: Record<string, unknown>, state: State) => PlatformReply> = {
    "/api/auth.test": authTest,
    "/api/chat.postMessage": postMessage,
    "/api/chat.update": updateMessage,
    "/api/chat.postEphemeral": whisper,
    "/api/assistant.threads.setStatus": setStatus,
    "/api/reactions.add": (body, { reactions }) => changeReaction(body, reactions, true),
    "/api/reactions.remove": (body, { reactions }) => changeReaction(body, reactions, false),
  };
  const method = methods[call.path];
  if (!method) return fault("unknown_method");
  if (call.method !== "POST" || !call.headers["content-type"]?.startsWith("application/json"))
    return fault("invalid_form_data");
  const { authorization } = call.headers;
  if (!authorization) return fault("not_authed");
  if (authorization !== `Bearer ${state.botToken}`) return fault("invalid_auth");
  return method(call.body ?? {}, state);
}

function authTest(): PlatformReply {
  const bot = { user: "gsv", user_id: "U0LAN0Z89", bot_id: "B0LAN0Z89" };
  const team = { team: "Family", team_id: "T061EG9R6", url: "https://family.slack.com/" };
  return { status: 200, body: { ok: true, ...team, ...bot, is_enterprise_install: false } };
}

const maxText = 40_000;

function postMessage(body: Record<string, unknown>, { posted, asked, closed }: State): PlatformReply {
  const { channel, text, thread_ts } = body;
  if (typeof channel !== "string" || !/^[CDG][A-Z0-9]{6,}$/.test(channel)) return fault("channel_not_found");
  if (closed.has(channel)) return fault("not_in_channel");
  if (typeof text !== "string" || text === "") return fault("no_text");
  if (text.length > maxText) return fault("msg_too_long");
  if (thread_ts !== undefined && !/^\d{10}\.\d{6}$/.test(String(thread_ts)))
    return fault("invalid_thread_ts");
  for (const flag of ["unfurl_links", "unfurl_media"])
    if (body[flag] !== undefined && typeof body[flag] !== "boolean") return fault("invalid_arguments");
  const ts = `1700000000.${String(posted.length + 1).padStart(6, "0")}`;
  const thread = thread_ts === undefined ? {} : { thread_ts: String(thread_ts) };
  const blocks = body.blocks as SlackBlock[] | undefined;
  const wrong = blocks && blockFault(blocks);
  if (wrong) return fault(wrong);
  posted.push({ channel, text, ts, ...thread, ...(blocks ? { blocks } : {}) });
  if (slackLabels({ blocks }).length > 0) asked.push(structuredClone(posted.at(-1)!));
  const message = { type: "message", user: "U0LAN0Z89", bot_id: "B0LAN0Z89", text, ts, ...thread };
  return { status: 200, body: { ok: true, channel, ts, message } };
}

function updateMessage(body: Record<string, unknown>, { posted }: State): PlatformReply {
  const { channel, ts, text } = body as { channel?: string; ts?: string; text?: string };
  const message = posted.find((one) => one.channel === channel && one.ts === ts);
  if (!message) return fault("message_not_found");
  if (!text) return fault("no_text");
  const blocks = body.blocks as SlackBlock[] | undefined;
  const wrong = blocks && blockFault(blocks);
  if (wrong) return fault(wrong);
  // Blocks remain unless they are replaced.
  Object.assign(message, { text, ...(blocks ? { blocks } : {}) });
  return { status: 200, body: { ok: true, channel, ts, text } };
}

function whisper(body: Record<string, unknown>, { whispered }: State): PlatformReply {
  const { channel, user, text } = body as { channel?: string; user?: string; text?: string };
  if (!channel) return fault("channel_not_found");
  if (!user || !/^[UW][A-Z0-9]+$/.test(user)) return fault("user_not_in_channel");
  if (!text) return fault("no_text");
  whispered.push({ user, text });
  return { status: 200, body: { ok: true, message_ts: "1700000000.999999" } };
}

function setStatus(body: Record<string, unknown>, { statuses }: State): PlatformReply {
  const { channel_id, thread_ts, status } = body;
  if (typeof channel_id !== "string") return fault("channel_not_found");
  if (!/^\d{10}\.\d{6}$/.test(String(thread_ts))) return fault("invalid_thread_ts");
  if (typeof status !== "string") return fault("invalid_arguments");
  statuses.push(`${channel_id}/${thread_ts} ${status}`);
  return { status: 200, body: { ok: true } };
}

function changeReaction(body: Record<string, unknown>, reactions: Set<string>, adds: boolean): PlatformReply {
  const { channel, timestamp, name } = body as Record<string, string>;
  if (!channel || !timestamp || !/^[a-z0-9_+-]+$/.test(name ?? "")) return fault("no_item_specified");
  const one = `${channel}/${timestamp}/${name}`;
  if (reactions.has(one) === adds) return fault(adds ? "already_reacted" : "no_reaction");
  if (adds) reactions.add(one);
  else reactions.delete(one);
  return { status: 200, body: { ok: true } };
}

function fault(error: string): PlatformReply {
  return { status: 200, body: { ok: false, error } };
}
