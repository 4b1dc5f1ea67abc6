import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { Context } from "../../app/context.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";

/** Warns when several senders may write and their direct messages all go into the owner's main session. */
export async function noteSharing(context: Pick<Context, "note">, gateway: Gateway): Promise<void> {
  const answer = await gateway.request("config.get", {});
  const { session, channels = {} } = ("config" in answer ? answer.config : {}) as Partial<Configuration>;
  if (session?.dmScope !== "main") return;
  const all = Object.values(channels);
  const ids = new Set(all.flatMap(({ allowFrom = [] }) => allowFrom));
  const isOpen = ids.has("*") || all.some(({ dmPolicy }) => dmPolicy === "open");
  if (!isOpen && ids.size < 2) return;
  const who = isOpen ? "everybody" : `each of the ${ids.size} ids`;
  context.note(
    `gsv: ${who} that may write shares your main conversation and what the agent remembers of you; ` +
      "`gsv config set session.dmScope per-channel-peer` gives each a conversation of their own",
  );
}
