import { logError } from "../../runtime/log.ts";
import type { Origin } from "../../session/inbox-entry.ts";
import { ownValue } from "../account.ts";
import type { ChannelOrigin, ChannelSender } from "../channel.ts";
import { type Accounts, findTarget, type Target } from "./target.ts";

/** Shows at a message's channel what becomes of it: that an answer is being written, and marks. */
export function createSigns(accounts: Accounts): Pick<ChannelSender, "typing" | "mark"> {
  /** A failure is only logged. */
  const attempt = async (
    origin: Origin,
    what: "typing" | "mark",
    show: (target: Target, to: ChannelOrigin) => Promise<void>,
  ) => {
    if (origin.kind !== "channel") return;
    try {
      const target = await findTarget(accounts, origin);
      if (target.ok) await show(target, origin);
    } catch (error) {
      const { channel, accountId } = origin;
      logError(`channel.${what}.failed`, error, { channel, accountId });
    }
  };
  return {
    typing: (origin) => attempt(origin, "typing", ({ channel, account }, to) => channel.typing(account, to)),
    async mark(origin, mark) {
      if (origin.kind !== "channel" || origin.replyToId === undefined) return;
      const { channels } = await accounts.configuration.load();
      if (!ownValue(channels, origin.channel)?.reactions) return;
      const message = { peer: origin.peer, messageId: origin.replyToId };
      await attempt(origin, "mark", async ({ channel, account }) => channel.mark?.(account, message, mark));
    },
  };
}
