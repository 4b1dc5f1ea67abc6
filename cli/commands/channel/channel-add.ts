import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { AccountField } from "../../../shared/channels/channel.ts";
import { channels } from "../../../shared/channels/channels.ts";
import type { StartedAccount } from "../../../shared/protocol/channel-accounts.ts";
import { columns, visible } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { ask, askHidden, readAll } from "../../app/questions.ts";
import { didYouMean } from "../../app/suggestion.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { recordOwner } from "./channel-owners.ts";

const policies = ["pairing", "allowlist", "open"];

type Values = Record<string, string>;

export const addChannel: Action = async (context, invocation) => {
  const [name = "", accountId = "default"] = invocation.args;
  const channel = Object.hasOwn(channels, name) ? channels[name] : undefined;
  if (!channel) {
    const known = Object.keys(channels);
    throw usage(`there is no channel ${name}${didYouMean(name, known)}; use one of ${known.join(", ")}`);
  }
  const wanted = policyOf(invocation);
  const gateway = await context.gateway();
  const known = await valueAt(gateway, `channels.${name}.accounts.${accountId}`);
  const given = await valuesFor(context, invocation, channel.fields, known);
  const made = generatedSecrets(channel.fields, { ...known, ...given });
  const policy = wanted ?? (await askPolicy(context, gateway, name));
  const address = { channel: name, accountId };
  const started = await gateway.request("channel.start", { ...address, config: { ...given, ...made } });
  await setAccess(gateway, name, policy);
  const shown = { ...address, ...started, ...(policy ? { dmPolicy: policy.dmPolicy } : {}) };
  context.print(shown, [registered(shown), ...secretsToPaste(shown, made), ...nextSteps(shown)].join("\n"));
  await recordOwner(context, gateway, name);
};

/** The message for a started account. @throws Failure when the platform refuses the webhook */
export function registered({
  channel,
  accountId,
  ...started
}: Partial<StartedAccount> & { channel: string; accountId: string }): string {
  const { identity = "", webhookUrl, registration } = started;
  const name = `${channel}/${accountId}`;
  if (!registration) return `${name} started`;
  if (registration.status === "failed") {
    const reason = visible(registration.reason);
    const again = `fix that, then run \`gsv channel start ${channel} ${accountId}\``;
    throw new Failure(
      "webhook",
      `${name} is stored, but the platform refused the webhook ${webhookUrl}: ${reason}; ${again}`,
    );
  }
  const state = registration.status === "registered" ? "its webhook is registered" : "register its webhook";
  const lines = [`${name} is ${visible(identity)}; ${state}`, `  webhook  ${webhookUrl}`];
  return [...lines, ...(registration.status === "manual" ? [`  there    ${registration.todo}`] : [])].join(
    "\n",
  );
}

/** Reads the account's values from a file or a pipe, or asks the user. */
async function valuesFor(
  { terminal }: Context,
  { options }: Invocation,
  fields: readonly AccountField[],
  known: Values,
): Promise<Values> {
  const from = text(options.from);
  if (from !== undefined)
    return parseValues(
      from === "-" ? await readAll(terminal.stdin) : await readFile(resolve(terminal.cwd, from), "utf8"),
    );
  if (terminal.stdin.isTTY !== true) {
    const names = fields.filter(({ free }) => !free).map(({ name }) => name);
    throw usage(`send ${names.join(", ")} as a JSON object on standard input, with --from -`);
  }
  const values: Values = {};
  for (const { name, secret, about, free } of fields) {
    if (free) continue;
    const isKnown = known[name] !== undefined;
    const answer = secret
      ? await askHidden(terminal, isKnown ? `${about} (empty: keep)` : about)
      : await ask(terminal, about, known[name]);
    if (answer !== "") values[name] = answer;
    else if (!isKnown) throw usage(`${name} is needed`);
  }
  return values;
}

function parseValues(json: string): Values {
  let values: unknown;
  try {
    values = JSON.parse(json);
  } catch {
    // Do not show the parser's message: it quotes the text, which may contain a secret.
    throw usage('--from is not JSON; send an object of strings, for example {"botToken":"…"}');
  }
  const isTexts = typeof values === "object" && values !== null && !Array.isArray(values);
  if (isTexts && Object.values(values as object).every((value) => typeof value === "string"))
    return values as Values;
  throw usage('--from is not an object of strings; send for example {"botToken":"…"}');
}

function generatedSecrets(fields: readonly AccountField[], known: Values): Values {
  const names = fields.filter(({ name, free }) => free && known[name] === undefined).map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, randomBytes(24).toString("base64url")]));
}

interface Policy {
  dmPolicy?: string;
  allow: string[];
  owners: string[];
}

function policyOf({ options }: Invocation): Policy | undefined {
  const dmPolicy = text(options.policy);
  const [allow, owners] = [idsIn(text(options.allow)), idsIn(text(options.owner))];
  if (dmPolicy !== undefined && !policies.includes(dmPolicy))
    throw usage(`there is no policy ${dmPolicy}; use one of ${policies.join(", ")}`);
  return dmPolicy === undefined && allow.length + owners.length === 0
    ? undefined
    : { ...(dmPolicy ? { dmPolicy } : {}), allow, owners };
}

function idsIn(list = ""): string[] {
  return list.split(",").flatMap((id) => id.trim() || []);
}

/** Asks the user for the policy, unless the channel already has one. */
async function askPolicy(
  { terminal }: Context,
  gateway: Gateway,
  channel: string,
): Promise<Policy | undefined> {
  const { dmPolicy } = await valueAt(gateway, `channels.${channel}`);
  if (dmPolicy !== undefined || terminal.stdin.isTTY !== true) return undefined;
  const chosen = await ask(terminal, `Who may write: ${policies.join(", ")}`, policies[0]);
  if (!policies.includes(chosen))
    throw usage(`there is no policy ${chosen}; use one of ${policies.join(", ")}`);
  const isList = chosen === "allowlist";
  const owners = isList ? idsIn(await ask(terminal, "Your own sender ids, separated by commas")) : [];
  const allow = isList ? idsIn(await ask(terminal, "Sender ids of guests, separated by commas")) : [];
  return { dmPolicy: chosen, allow, owners };
}

async function setAccess(gateway: Gateway, channel: string, policy: Policy | undefined): Promise<void> {
  const path = `channels.${channel}`;
  const added = { allowFrom: policy?.allow ?? [], owners: policy?.owners ?? [] };
  for (const [list, ids] of Object.entries(added)) {
    if (ids.length === 0) continue;
    const known = (await valueAt<string[]>(gateway, path))[list];
    await gateway.request("config.set", {
      path: `${path}.${list}`,
      value: [...new Set([...(known ?? []), ...ids])],
    });
  }
  if (policy?.dmPolicy)
    await gateway.request("config.set", { path: `${path}.dmPolicy`, value: policy.dmPolicy });
}

async function valueAt<T = string>(
  gateway: Gateway,
  path: string,
): Promise<Record<string, T | undefined> & Values> {
  const answer = await gateway.request("config.get", { path });
  return ("value" in answer && answer.value ? answer.value : {}) as never;
}

/** The generated secrets that the user must enter at the platform. They are shown only once. */
function secretsToPaste({ registration }: Partial<StartedAccount>, made: Values): string[] {
  if (registration?.status !== "manual" || Object.keys(made).length === 0) return [];
  return [
    columns(
      ["  TO PASTE", "SHOWN ONLY NOW"],
      Object.entries(made).map(([name, value]) => [`  ${name}`, value]),
    ),
  ];
}

function nextSteps({ channel, dmPolicy }: { channel: string; dmPolicy?: string }): string[] {
  if (dmPolicy === "pairing")
    return ["Write to it; `gsv pair list` then shows you, and `gsv pair approve … --owner` lets you in."];
  if (dmPolicy !== undefined) return ["Write to it."];
  return [
    `The policy is unchanged: see \`gsv config get channels.${channel}\`. Without a dmPolicy, nobody may write.`,
  ];
}
