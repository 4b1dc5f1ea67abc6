import { channels as builtIn } from "../../../shared/channels/channels.ts";
import type { CronSpec } from "../../../shared/protocol/cron.ts";
import { code } from "../../../shared/protocol/errors.ts";
import type { Context } from "../../app/context.ts";
import { Failure } from "../../app/failure.ts";
import { didYouMean } from "../../app/suggestion.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";

/**
 * Looks for the account that a job's answer is to be sent by, so that a job whose answers would reach nobody is not
 * saved. A stopped account is only noted: it may be started before the job runs.
 * @throws Failure that says how to connect the account, when there is none
 */
export async function checkReceiver(context: Context, gateway: Gateway, spec: CronSpec): Promise<void> {
  if (spec.mode !== "task" || spec.channel === undefined || spec.channel === "last") return;
  const { channel, accountId = "default" } = spec;
  const { channels: accounts } = await gateway.request("channels.list");
  const account = accounts.find((one) => one.channel === channel && one.accountId === accountId);
  const named = accountId === "default" ? channel : `${channel} ${accountId}`;
  if (!account) {
    const names = [...new Set([...Object.keys(builtIn), ...accounts.map((one) => one.channel)])];
    const todo = names.includes(channel)
      ? `\`gsv channel add ${named}\` connects one`
      : `the channels are ${names.join(", ")}${didYouMean(channel, names)}`;
    throw new Failure(
      code.notFound,
      `the answer could not be sent: there is no account ${accountId} of ${channel}; ${todo}`,
    );
  }
  if (account.stopped)
    context.note(
      `gsv: ${channel}/${accountId} is stopped: no answer is sent until \`gsv channel start ${named}\``,
    );
}
