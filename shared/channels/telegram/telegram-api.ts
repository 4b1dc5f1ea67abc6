import * as v from "valibot";
import { baseUrlOf, callPlatform, isPassing, plainReason } from "../../http/platform-call.ts";
import type { ChannelAccount } from "../channel.ts";

/** The Bot API's classified response (https://core.telegram.org/bots/api#making-requests). */
export type BotApiAnswer =
  | { ok: true; result: unknown }
  /** `movedTo`: the chat was upgraded to a supergroup with this id. */
  | { ok: false; retryable: boolean; reason: string; retryAfterMs?: number; movedTo?: string };

const answerSchema = v.object({
  ok: v.boolean(),
  result: v.optional(v.unknown()),
  description: v.optional(v.string()),
  parameters: v.optional(
    v.object({ retry_after: v.optional(v.number()), migrate_to_chat_id: v.optional(v.number()) }),
  ),
});

/**
 * Calls a method of the Bot API as the account's bot. Does not throw: a connection error or timeout is a
 * retryable failure. Several calls can share one `signal`. Reasons never contain the token, which is part of
 * the URL.
 * @param params sent as form data when they contain a File, else as JSON
 */
export async function callBotApi(
  account: ChannelAccount,
  method: string,
  params: object,
  signal?: AbortSignal,
): Promise<BotApiAnswer> {
  const token = account.secrets.botToken;
  const hasFile = Object.values(params).some((value) => value instanceof File);
  const content = hasFile ? { form: formOf(params) } : { body: params };
  const called = await callPlatform(botApiUrl(account, method), { ...content, signal });
  if (!called.answered) return { ok: false, retryable: true, reason: called.reason };
  const { status, body } = called;
  const parsed = v.safeParse(answerSchema, body);
  const answer = parsed.success ? parsed.output : undefined;
  if (status === 200 && answer?.ok) return { ok: true, result: answer.result };
  const { retry_after: seconds, migrate_to_chat_id: movedTo } = answer?.parameters ?? {};
  const reason = `${status} ${answer?.description ?? "without a description"}`;
  return {
    ok: false,
    retryable: isPassing(status),
    reason: plainReason(status === 401 ? `authentication failed: ${reason}` : reason, token),
    ...(status === 429 && seconds !== undefined ? { retryAfterMs: seconds * 1000 } : {}),
    ...(movedTo === undefined ? {} : { movedTo: String(movedTo) }),
  };
}

/** In form data, objects are encoded as JSON. */
function formOf(params: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(params)) {
    if (value instanceof File) form.append(name, value);
    else form.append(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  return form;
}

/** The URL of a method, or of a file with the root `/file`. It contains the token. */
export function botApiUrl(account: ChannelAccount, path: string, root = ""): string {
  return `${baseUrlOf(account, "https://api.telegram.org")}${root}/bot${account.secrets.botToken ?? ""}/${path}`;
}
