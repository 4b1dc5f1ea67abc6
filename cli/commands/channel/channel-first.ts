import { usage } from "../../app/failure.ts";
import type { Action } from "../../app/program.ts";
import { didYouMean } from "../../app/suggestion.ts";
import { accountOf, showStatus, startChannel, stopChannel } from "./channel-commands.ts";

/** What may stand behind the name of a channel. */
const actions: Record<string, Action> = {
  status: showStatus,
  start: startChannel,
  stop: stopChannel,
  login: signing("channel.login"),
  logout: signing("channel.logout"),
};

/** `gsv channel telegram status`: GSV's order of the words. The other order, `gsv channel status telegram`, has commands of its own. */
export const channelFirst: Action = async (context, { args, options }) => {
  const [channel = "", name, ...account] = args;
  const action = name !== undefined && Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action === undefined) {
    const wrong =
      name === undefined
        ? `gsv channel ${channel} what?`
        : `no action ${name} of a channel${didYouMean(name, Object.keys(actions))}`;
    throw usage(
      `${wrong}; ${Object.keys(actions).join(", ")} may follow the channel's name; see \`gsv channel --help\``,
    );
  }
  await action(context, { args: [channel, ...account], options });
};

/** Asks the gateway to log in or out. Of the built-in channels none has a login; the gateway says so. */
function signing(method: "channel.login" | "channel.logout"): Action {
  return async (context, { args }) => {
    const gateway = await context.gateway();
    const result = await gateway.request(method, accountOf(args));
    context.print(result, `${args[0]}: done`);
  };
}
