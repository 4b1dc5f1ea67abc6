import * as v from "valibot";
import {
  baseUrlOf,
  callPlatform,
  failedSend,
  isPassing,
  type PlatformRequest,
  plainReason,
  retryAfterOf,
} from "../../http/platform-call.ts";
import type { ChannelAccount, SendOutcome } from "../channel.ts";

/** Discord refuses clients without a User-Agent in this form. */
const userAgent = "DiscordBot (gsv, 0.1.0)";

const messageSchema = v.object({
  id: v.string(),
  content: v.optional(v.string()),
  attachments: v.optional(v.array(v.unknown())),
});

const errorSchema = v.object({
  code: v.optional(v.number()),
  message: v.optional(v.string()),
  /** Seconds, with a fraction. */
  retry_after: v.optional(v.number()),
});

/**
 * Discord's classified response. `gone`: the channel, message or interaction does not exist or no longer
 * exists.
 */
export type DiscordAnswer =
  | { ok: true; message?: v.InferOutput<typeof messageSchema>; body: unknown }
  | { ok: false; gone: boolean; outcome: SendOutcome };

export interface DiscordRequest extends Pick<PlatformRequest, "method" | "body" | "form" | "signal"> {
  /** Path after `/api/v10`. */
  path: string;
  /** True to authenticate as the application's bot. Otherwise the path contains the interaction's token. */
  asBot: boolean;
  /** Another secret, besides the bot's token, to remove from reasons. */
  secret?: string;
}

/** Calls the REST API (https://docs.discord.com/developers/reference). Does not throw. */
export async function callDiscord(account: ChannelAccount, request: DiscordRequest): Promise<DiscordAnswer> {
  const { path, asBot, secret, ...rest } = request;
  const token = account.secrets.botToken;
  const headers = { "user-agent": userAgent, ...(asBot ? { authorization: `Bot ${token}` } : {}) };
  const url = `${baseUrlOf(account, "https://discord.com")}/api/v10${path}`;
  const called = await callPlatform(url, { ...rest, headers });
  if (!called.answered) return { ok: false, gone: false, outcome: failedSend(true, called.reason) };
  const { status, body } = called;
  if (status >= 200 && status < 300) {
    const parsed = v.safeParse(messageSchema, body);
    return { ok: true, ...(parsed.success ? { message: parsed.output } : {}), body };
  }
  const parsed = v.safeParse(errorSchema, body);
  const error = parsed.success ? parsed.output : {};
  const said = [error.code, error.message ?? "without a reason"]
    .filter((part) => part !== undefined)
    .join(" ");
  const isToken = asBot && status === 401;
  const reason = plainReason(`${isToken ? "authentication failed: " : ""}${status} ${said}`, token, secret);
  const { retry_after: seconds } = error;
  const wait = seconds === undefined ? retryAfterOf(called.headers) : Math.ceil(seconds * 1000);
  const gone = status === 404 || (!asBot && status === 401);
  return { ok: false, gone, outcome: failedSend(isPassing(status), reason, wait) };
}
