import { channels } from "../../../shared/channels/channels.ts";
import type { AccountStatus } from "../../../shared/protocol/channel-accounts.ts";
import { columns, moment, pairs, visible } from "../../app/columns.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { confirm } from "../../app/questions.ts";
import { didYouMean } from "../../app/suggestion.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { registered } from "./channel-add.ts";

export const listChannels: Action = async (context) => {
  const gateway = await context.gateway();
  const answer = await gateway.request("channels.list");
  const rows = answer.channels.map(({ channel, accountId, connectedAt, lastMessageAt, stopped, bridge }) => [
    channel,
    accountId,
    bridge ? "bridge" : "webhook",
    stopped ? "stopped" : bridge && connectedAt === 0 ? "away" : "on",
    moment(connectedAt || undefined),
    moment(lastMessageAt),
  ]);
  const [first, ...others] = Object.keys(channels);
  const none = `no channels; connect one with \`gsv channel add ${first}\` (or ${others.join(", ")})`;
  const header = ["CHANNEL", "ACCOUNT", "BY", "STATE", "SINCE", "LAST MESSAGE"];
  context.print(answer, rows.length > 0 ? columns(header, rows) : none);
};

export const showStatus: Action = async (context, { args }) => {
  const [channel, accountId] = args;
  const gateway = await context.gateway();
  const names = channel === undefined ? await channelNames(gateway) : [channel];
  const answers = await Promise.all(
    names.map((name) => gateway.request("channel.status", { channel: name, accountId })),
  );
  const shown = answers.flatMap((answer) =>
    answer.accounts.map((account) => statusText(answer.channel, account)),
  );
  const none = `no accounts; \`gsv channel add ${channel ?? Object.keys(channels)[0]}\` connects one`;
  context.print({ channels: answers }, shown.join("\n\n") || none);
};

export const testChannel: Action = async (context, { args, options }) => {
  const [channel = "", to = ""] = args;
  const kind = text(options.kind) ?? "dm";
  const peerKind = (["dm", "group", "channel", "thread"] as const).find((one) => one === kind);
  if (peerKind === undefined) throw usage(`there is no kind ${kind}; use dm, group, channel or thread`);
  const gateway = await context.gateway();
  const rest = { accountId: text(options.account), text: text(options.text) };
  const result = await gateway.request("channel.test", { channel, to, peerKind, ...rest }, 60_000);
  if (!result.ok) throw new Failure("undelivered", `nothing was sent: ${result.error}`);
  context.print(result, `sent to ${to}`);
};

export const startChannel: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("channel.start", accountOf(args));
  context.print(result, registered(result));
};

export const stopChannel: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("channel.stop", accountOf(args));
  context.print(result, `stopped ${result.channel}/${result.accountId}`);
};

export const removeChannel: Action = async (context, { args, options }) => {
  const account = accountOf(args);
  const name = `${account.channel}/${account.accountId ?? "default"}`;
  if (options.yes !== true) {
    if (context.terminal.stdin.isTTY !== true)
      throw usage(`no terminal to ask for confirmation; pass --yes to remove ${name}`);
    if (!(await confirm(context.terminal, `Remove ${name} and its secrets?`)))
      throw new Failure("cancelled", "nothing was removed");
  }
  const gateway = await context.gateway();
  const result = await gateway.request("channel.remove", account);
  context.print(result, `removed ${name}`);
};

function accountOf([channel = "", accountId]: string[]): { channel: string; accountId?: string } {
  return { channel, ...(accountId === undefined ? {} : { accountId }) };
}

async function channelNames(gateway: Gateway): Promise<string[]> {
  const { channels } = await gateway.request("channels.list");
  return [...new Set(channels.map(({ channel }) => channel))];
}

function statusText(
  channel: string,
  { accountId, connected, authenticated, error, ...rest }: AccountStatus,
): string {
  const { lastActivity, extra } = rest;
  const stopped = extra.stopped ? "stopped" : undefined;
  return pairs([
    ["account", `${channel}/${accountId}`],
    ["state", stopped ?? (connected ? "receives messages" : "receives no messages")],
    ["known as", extra.identity === undefined ? undefined : visible(extra.identity)],
    ...(extra.waiting === undefined
      ? [["credentials", authenticated ? "accepted by the platform" : "refused by the platform"] as const]
      : [["waiting", `${extra.waiting} messages`] as const]),
    ["webhook", extra.webhookUrl],
    ["error", error && visible(error)],
    [
      "webhook error",
      extra.webhookError && `${visible(extra.webhookError)} (${moment(extra.webhookErrorAt)})`,
    ],
    ["last undelivered", extra.lastError && `${visible(extra.lastError)} (${moment(extra.lastErrorAt)})`],
    ["last message", moment(lastActivity)],
  ]);
}

/** The actions that may follow a channel's name. */
const actions: Record<string, Action> = {
  status: showStatus,
  start: startChannel,
  stop: stopChannel,
  login: signing("channel.login"),
  logout: signing("channel.logout"),
};

/** `gsv channel telegram status`, the word order of GSV. The order `gsv channel status telegram` has its own commands. */
export const channelFirst: Action = async (context, { args, options }) => {
  const [channel = "", name, ...account] = args;
  const action = name !== undefined && Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action === undefined) {
    const wrong =
      name === undefined
        ? `gsv channel ${channel}: the action is missing`
        : `a channel has no action ${name}${didYouMean(name, Object.keys(actions))}`;
    throw usage(`${wrong}; use one of ${Object.keys(actions).join(", ")}; see \`gsv channel --help\``);
  }
  await action(context, { args: [channel, ...account], options });
};

/** Logs in or out. No built-in channel has a login; the gateway then answers with an error. */
function signing(method: "channel.login" | "channel.logout"): Action {
  return async (context, { args }) => {
    const gateway = await context.gateway();
    const result = await gateway.request(method, accountOf(args));
    context.print(result, `${args[0]}: done`);
  };
}
