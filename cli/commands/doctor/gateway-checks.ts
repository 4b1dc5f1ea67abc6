import { formatPath } from "../../../shared/configuration/configuration-paths.ts";
import type { UpgradeState } from "../../../shared/configuration/upgrade.ts";
import { code } from "../../../shared/protocol/errors.ts";
import { storageFormat } from "../../../shared/world/stored-format.ts";
import { secondsText, visible } from "../../app/columns.ts";
import { failureOf } from "../../app/failure.ts";
import { version } from "../../app/installation.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { RequestError } from "../../gateway/request-error.ts";
import { channelSettings, hasOwner } from "../channel/channel-owners.ts";
import { type Finding, failed, finding } from "./finding.ts";

/** The finding for a gateway that could not be connected. */
export function unreachable(url: string, error: unknown): Finding {
  const { message } = failureOf(error);
  if (error instanceof RequestError && error.code === code.unauthorized)
    return finding("tokenRefused", { url });
  return finding("gatewaySilent", { url, reason: message });
}

export function checkVersions(gateway: Gateway, connectMs: number): Finding {
  const there = gateway.hello.server.version;
  const found = { url: gateway.url, ms: connectMs, there };
  if (there === version) return finding("gatewayAnswers", found);
  return finding("gatewayVersions", { ...found, here: version });
}

/** Reports an upgrade that is not finished. A gateway of an earlier version knows no upgrades. */
export async function checkUpgrade(gateway: Gateway): Promise<Finding[]> {
  const answer = await gateway.request("config.get", { path: "upgrade" });
  const value = "value" in answer ? (answer.value as UpgradeState | null) : null;
  if (value === null || value.minReader >= storageFormat) return [];
  const { finishesAt } = value;
  const until = finishesAt === undefined ? "" : `, until ${new Date(finishesAt).toISOString()}`;
  return [finding("upgradeOpen", { until })];
}

/** Reports when the agent asks. A gateway of an earlier version asks nothing. */
export async function checkApprovals(gateway: Gateway): Promise<Finding[]> {
  if (!gateway.hello.features.methods.includes("approval.list")) return [];
  const { unchosen } = await gateway.request("approval.list", { limit: 1 });
  if (unchosen !== undefined) return [finding("approvalsUnchosen")];
  const answer = await gateway.request("config.get", { path: "toolApproval.mode" });
  return [finding("approvalsMode", { mode: visible(String("value" in answer ? answer.value : "")) })];
}

/** Checks the token's scope: only a token with the scope admin may list the tokens. */
export async function checkToken(gateway: Gateway): Promise<Finding> {
  if (gateway.hello.scopes?.includes("admin") === false) return finding("tokenClient");
  try {
    const { tokens } = await gateway.request("token.list");
    return finding("tokenAdmin", {
      tokens: `${tokens.length} ${tokens.length === 1 ? "token is" : "tokens are"}`,
    });
  } catch (error) {
    if (error instanceof RequestError && error.code === code.forbidden) return finding("tokenClient");
    return failed("token", error);
  }
}

/** What this machine's own files say about its token and its node. */
export interface StoredHere {
  /** The config file, if it holds the token in use. */
  tokenFile?: string;
  /** The id of the node that is installed as a service. */
  nodeId?: string;
}

/** Reports tokens with lasting admin rights, and nodes next to one. A gateway of an earlier version does not list them. */
export async function checkAdmins(gateway: Gateway, { tokenFile, nodeId }: StoredHere): Promise<Finding[]> {
  if (!gateway.hello.features.methods.includes("token.standing")) return [];
  const { tokens } = await gateway.request("token.standing");
  const standing = tokens.flatMap(({ id, name, nodes }) => [
    finding("adminStanding", { id, name: visible(name) }),
    ...nodes.map((node) => finding("adminBesideNode", { node: visible(node), place: `token ${id}` })),
  ]);
  const isAdmin = gateway.hello.scopes?.includes("admin") ?? false;
  const here =
    isAdmin && tokenFile !== undefined && nodeId !== undefined
      ? [finding("adminBesideNode", { node: nodeId, place: tokenFile })]
      : [];
  const found = [...standing, ...here];
  return found.length > 0 ? found : [finding("adminNone")];
}

/** Checks each channel account: whether the platform accepts its credentials and delivers its messages. */
export async function checkChannels(gateway: Gateway): Promise<Finding[]> {
  const { channels } = await gateway.request("channels.list");
  if (channels.length === 0) return [finding("channelsNone")];
  const settings = await channelSettings(gateway);
  const names = [...new Set(channels.map(({ channel }) => channel))];
  const states = await Promise.all(
    names.map(async (channel) => {
      const { accounts } = await gateway.request("channel.status", { channel });
      return accounts.map((account) => {
        const name = { channel, account: visible(`${channel}/${account.accountId}`), id: account.accountId };
        if (account.extra.stopped) return finding("channelStopped", name);
        const reason = account.error ?? account.extra.webhookError;
        if (!account.connected || !account.authenticated)
          return finding("channelDeaf", { ...name, reason: reason ? `: ${visible(reason)}` : "" });
        return finding(hasOwner(settings, channel) ? "channelWorks" : "channelUnowned", name);
      });
    }),
  );
  return states.flat();
}

/** Reports what the gateway's sweep cannot handle. A gateway of an earlier version does not say it. */
export async function checkSweep(gateway: Gateway): Promise<Finding[]> {
  const { failing = [] } = await gateway.request("cron.status");
  if (failing.length === 0) return [finding("sweepOk")];
  return failing.map(({ item, error, failures }) =>
    finding("sweepFails", { item: visible(item), error: visible(error), failures }),
  );
}

/** Names the models whose calls of this month were charged by estimate. A gateway of an earlier version does not say it. */
export async function checkPrices(gateway: Gateway): Promise<Finding[]> {
  if (!gateway.hello.features.methods.includes("usage.get")) return [];
  const { groups = [] } = await gateway.request("usage.get", { by: "model" });
  const unknown = groups.filter(({ estimated = 0 }) => estimated > 0);
  if (unknown.length === 0) return [finding("pricesKnown")];
  const example = '{"input": 3, "output": 15}';
  return unknown.map(({ name }) =>
    finding("priceUnknown", {
      ...{ name: visible(name), example },
      path: formatPath(["budgets", "prices", visible(name)]),
    }),
  );
}

/** From these clock differences, AWS refuses this machine's signed requests, and times look wrong. */
const refusedMs = 300_000;
const noticedMs = 30_000;

/** Compares this machine's clock with the `Date` header of the gateway. @param now returns epoch milliseconds */
export async function checkClock(url: string, now: () => number): Promise<Finding> {
  const door = url.replace(/^ws/, "http");
  const answer = await fetch(door, { method: "HEAD", signal: AbortSignal.timeout(10_000) }).catch(
    () => undefined,
  );
  const date = Date.parse(answer?.headers.get("date") ?? "");
  if (Number.isNaN(date)) return finding("clockUnknown", { door });
  const differenceMs = now() - date;
  const size = Math.abs(differenceMs);
  // The other clock tells whole seconds.
  if (size < noticedMs) return finding("clockAgrees");
  const difference = `${secondsText(size)} ${differenceMs > 0 ? "ahead of" : "behind"}`;
  return finding(size < refusedMs ? "clockOff" : "clockRefused", { difference });
}
