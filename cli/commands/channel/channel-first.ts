import { usage } from "../../app/failure.ts";
import type { Action } from "../../app/program.ts";
import { didYouMean } from "../../app/suggestion.ts";
import { accountOf, showStatus, startChannel, stopChannel } from "./channel-commands.ts";

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
