import { setTimeout as sleep } from "node:timers/promises";
import type { ChannelAccount } from "../../shared/channels/channel.ts";
import { callDiscord } from "../../shared/channels/discord/discord-api.ts";
import { Failure } from "../app/failure.ts";
import { backoffDelay } from "../gateway/backoff.ts";

/**
 * Makes an idempotent call of Discord's REST API. Repeats it as long as that may help.
 * @param path after `/api/v10`
 * @throws Failure with Discord's reason; the signal's reason after an abort
 */
export async function askDiscord(
  account: ChannelAccount,
  path: string,
  signal: AbortSignal,
  method: "GET" | "PUT" | "DELETE" = "GET",
): Promise<unknown> {
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted();
    const answer = await callDiscord(account, { method, path, asBot: true });
    if (answer.ok) return answer.body;
    const { outcome } = answer;
    if (outcome.status !== "retry")
      throw new Failure(
        "discord",
        `Discord refuses the bot: ${outcome.status === "failed" ? outcome.reason : ""}`,
      );
    await sleep(outcome.retryAfterMs ?? 1000 + backoffDelay(failures, 1000, 60_000), undefined, { signal });
  }
}
