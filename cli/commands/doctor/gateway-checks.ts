import { code } from "../../../shared/protocol/errors.ts";
import { secondsText, visible } from "../../app/columns.ts";
import { failureOf } from "../../app/failure.ts";
import { version } from "../../app/version.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { RequestError } from "../../gateway/request-error.ts";
import { channelSettings, hasOwner } from "../channel/channel-owners.ts";
import { type Finding, fault, ok, skipped, warning } from "./finding.ts";

/** The finding about a gateway to which no connection was made. */
export function unreachable(url: string, error: unknown): Finding {
  const { message } = failureOf(error);
  if (error instanceof RequestError && error.code === code.unauthorized)
    return fault(
      "token",
      `${url} refuses it`,
      "an owner makes another with `gsv token create`; `gsv init --token -` saves it, and `gsv deploy` makes one for who deployed",
    );
  return fault(
    "gateway",
    `${url} does not answer: ${message}`,
    "`gsv deploy status` or, for a local one, `gsv dev`",
  );
}

export function checkVersions(gateway: Gateway, connectMs: number): Finding {
  const there = gateway.hello.server.version;
  const answers = `${gateway.url} answers in ${connectMs} ms, version ${there}`;
  if (there === version) return ok("gateway", answers);
  return warning(
    "gateway",
    `${answers}; here it is ${version}`,
    "bring both to one version: `gsv upgrade` here, `gsv deploy` there",
  );
}

/** What the token may do. Only a token with the scope admin may list the tokens. */
export async function checkToken(gateway: Gateway): Promise<Finding> {
  try {
    const { tokens } = await gateway.request("token.list");
    return ok(
      "token",
      `has every scope; ${tokens.length} ${tokens.length === 1 ? "token is" : "tokens are"} valid`,
    );
  } catch (error) {
    if (error instanceof RequestError && error.code === code.forbidden)
      return ok("token", "may chat and read; settings and tokens need one with the scope admin");
    return fault("token", failureOf(error).message);
  }
}

/** Every account on a messaging platform: whether the platform takes its credentials and sends its messages. */
export async function checkChannels(gateway: Gateway): Promise<Finding[]> {
  const { channels } = await gateway.request("channels.list");
  if (channels.length === 0) return [skipped("channels", "none is connected (`gsv channel add telegram`)")];
  const settings = await channelSettings(gateway);
  const names = [...new Set(channels.map(({ channel }) => channel))];
  const states = await Promise.all(
    names.map(async (channel) => {
      const { accounts } = await gateway.request("channel.status", { channel });
      return accounts.map((account) => {
        const name = visible(`${channel}/${account.accountId}`);
        if (account.extra.stopped)
          return warning(
            "channels",
            `${name} is stopped`,
            `gsv channel start ${channel} ${account.accountId}`,
          );
        const reason = account.error ?? account.extra.webhookError;
        if (!account.connected || !account.authenticated)
          return fault(
            "channels",
            `${name} receives nothing${reason ? `: ${visible(reason)}` : ""}`,
            `gsv channel status ${channel} ${account.accountId}`,
          );
        if (!hasOwner(settings, channel))
          return warning(
            "channels",
            `${name} works, and has no owner: whoever writes there is a guest`,
            `gsv pair approve ${channel} <your id> --owner`,
          );
        return ok("channels", `${name} works`);
      });
    }),
  );
  return states.flat();
}

/** Differences of the clocks from which AWS refuses requests that this machine signs, and from which times look wrong. */
const refusedMs = 300_000;
const noticedMs = 30_000;

/** Compares this machine's clock with that of the gateway's front door. @param now epoch milliseconds */
export async function checkClock(url: string, now: () => number): Promise<Finding> {
  const door = url.replace(/^ws/, "http");
  const answer = await fetch(door, { method: "HEAD", signal: AbortSignal.timeout(10_000) }).catch(
    () => undefined,
  );
  const date = Date.parse(answer?.headers.get("date") ?? "");
  if (Number.isNaN(date)) return skipped("clock", `${door} does not tell the time`);
  const differenceMs = now() - date;
  const size = Math.abs(differenceMs);
  // The other clock tells whole seconds.
  if (size < noticedMs) return ok("clock", "agrees with the gateway's");
  const said = `${secondsText(size)} ${differenceMs > 0 ? "ahead of" : "behind"} the gateway's`;
  const todo = "set this machine's clock, or let it set itself (timedatectl set-ntp true)";
  return size < refusedMs
    ? warning("clock", said, todo)
    : fault("clock", `${said}: AWS refuses what this machine signs`, todo);
}
