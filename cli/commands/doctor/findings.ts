import { accountFindings } from "./account-findings.ts";
import { bedrockFindings } from "./bedrock-findings.ts";
import type { Bad, Good } from "./finding-entry.ts";

/** Every finding of `gsv doctor`. The texts contain `{placeholders}`. docs/troubleshooting.md is generated from this table. */
export const findings = {
  nodeVersion: { check: "node", state: "ok", found: "{running}; gsv {version} from {place}" },
  nodeTooOld: {
    check: "node",
    state: "fault",
    found: "{running} is too old",
    todo: "install Node 20.19 or newer",
  },

  configSources: { check: "config", state: "ok", found: "{sources}" },
  configEmpty: { check: "config", state: "ok", found: "no gateway in {file}" },
  configExposed: {
    check: "config",
    state: "warning",
    found: "{file} can be read by other users",
    cause: "The file holds the gateway's token.",
    todo: "chmod 600 {file}",
  },

  portsNoGateway: { check: "ports", state: "skipped", found: "there is no local gateway here" },
  portsInUse: { check: "ports", state: "ok", found: "in use by the local gateway (pid {pid}): {ports}" },
  portsFree: { check: "ports", state: "ok", found: "free: {ports}" },
  portsUnknown: { check: "ports", state: "ok", found: "none used yet" },
  portsTaken: {
    check: "ports",
    state: "warning",
    found: "another program uses {ports}",
    cause: "The local gateway used these ports when it last ran.",
    todo: "stop that program; otherwise the local gateway will use other ports",
  },

  gatewayAnswers: {
    check: "gateway",
    state: "ok",
    found: "{url} answers in {ms} ms, version {there}",
  },
  gatewayVersions: {
    check: "gateway",
    state: "warning",
    found: "{url} answers in {ms} ms, version {there}; this gsv is version {here}",
    todo: "update the older one: `gsv upgrade` updates this gsv, `gsv deploy` the gateway",
  },
  upgradeOpen: {
    check: "upgrade",
    state: "ok",
    found: "the previous version can read all stored data{until}",
    todo: "`gsv config set upgrade finish` ends this now, `hold` never, `auto` after a day",
  },
  approvalsMode: { check: "approvals", state: "ok", found: "mode {mode}" },
  approvalsUnchosen: {
    check: "approvals",
    state: "warning",
    found: "nobody has chosen when the agent asks you; it asks nothing",
    cause: "The gateway is older than this choice; a new one begins in mode guard.",
    todo: "`gsv approvals mode guard`, or `off` to keep it so",
  },
  gatewaySilent: {
    check: "gateway",
    state: "fault",
    found: "{url} does not answer: {reason}",
    cause: "The gateway is not running, its address is wrong, or the network is down.",
    todo: "check it with `gsv deploy status`, or start a local gateway with `gsv dev`",
  },

  tokenRefused: {
    check: "token",
    state: "fault",
    found: "{url} refuses the token",
    cause: "The token was revoked, or belongs to another gateway.",
    todo: "ask an owner to run `gsv token create`, then save the token with `gsv init --token -`; if you deployed the gateway, `gsv deploy` creates one for you",
  },
  tokenAdmin: { check: "token", state: "ok", found: "has every scope; {tokens} valid" },
  tokenClient: {
    check: "token",
    state: "ok",
    found: "may chat and read; settings and tokens need admin rights (`gsv admin`)",
  },

  adminNone: { check: "admin", state: "ok", found: "no token keeps admin rights for more than an hour" },
  adminStanding: {
    check: "admin",
    state: "warning",
    found: "the token {name} ({id}) has admin rights that do not end",
    cause: "An earlier version created it. A program that reads it owns the gateway.",
    todo: "replace it where it is stored (`gsv init`, `gsv node install -t -`), then run `gsv token revoke {id}`; `gsv dev` replaces its own at the next start",
  },
  adminBesideNode: {
    check: "admin",
    state: "warning",
    found: "the node {node} runs next to a token with admin rights ({place})",
    cause: "The agent's commands on that machine can read the token.",
    todo: "run `gsv init` there, and `gsv node install -t -` with a token of `gsv token create {node} --scopes node`",
  },

  modelOffline: {
    check: "model",
    state: "warning",
    found: "the built-in offline model follows rules; it is not a language model",
    cause: "Neither a key nor a model server was configured when the gateway started.",
    todo: "`gsv config set model …`, or start `gsv dev` with ANTHROPIC_API_KEY or GSV_MODEL_BASE_URL set",
  },
  modelAtServer: { check: "model", state: "ok", found: "{name} at {baseUrl}" },
  modelServerAnswers: { check: "model", state: "ok", found: "{name}; its server {baseUrl} answers" },
  modelServerSilent: {
    check: "model",
    state: "fault",
    found: "nothing answers at {baseUrl}",
    todo: "start the server that runs {id}, such as Ollama",
  },
  pricesKnown: {
    check: "prices",
    state: "ok",
    found: "the price of every model that was used this month is known",
  },
  priceUnknown: {
    check: "prices",
    state: "warning",
    found: "the price of {name} is unknown; its calls count with an estimate (`budgets.unknownPrice`)",
    cause: "No price list has the model.",
    todo: "gsv config set '{path}' '{example}', with its dollars per million tokens; 0 is free",
  },
  modelByRole: { check: "model", state: "ok", found: "{name}, with the permissions of the functions' role" },
  modelWithKey: { check: "model", state: "ok", found: "{name}, with a key" },
  modelWithoutKey: {
    check: "model",
    state: "fault",
    found: "{name} has no key",
    todo: "gsv config set apiKeys.{provider} -",
  },

  channelsNone: {
    check: "channels",
    state: "skipped",
    found: "none is connected (`gsv channel add telegram`)",
  },
  channelWorks: { check: "channels", state: "ok", found: "{account} works" },
  channelStopped: {
    check: "channels",
    state: "warning",
    found: "{account} is stopped",
    cause: "`gsv channel stop` stopped it; messages are dropped meanwhile.",
    todo: "gsv channel start {channel} {id}",
  },
  channelDeaf: {
    check: "channels",
    state: "fault",
    found: "{account} receives nothing{reason}",
    cause: "The platform refuses the credentials, or cannot reach the webhook.",
    todo: "gsv channel status {channel} {id}",
  },
  channelUnowned: {
    check: "channels",
    state: "warning",
    found: "{account} works but has no owner, so every sender is a guest",
    todo: "gsv pair approve {channel} <your id> --owner",
  },

  sweepOk: { check: "sweep", state: "ok", found: "handles every session and job" },
  sweepFails: {
    check: "sweep",
    state: "fault",
    found: "cannot handle {item}: {error}, {failures} times in a row",
    todo: "gsv logs --gateway",
  },

  clockLocal: { check: "clock", state: "skipped", found: "the gateway uses the same clock" },
  clockUnknown: { check: "clock", state: "skipped", found: "{door} does not send the time" },
  clockAgrees: { check: "clock", state: "ok", found: "agrees with the gateway's" },
  clockOff: {
    check: "clock",
    state: "warning",
    found: "{difference} the gateway's",
    todo: "set this machine's clock, or synchronize it (timedatectl set-ntp true)",
  },
  clockRefused: {
    check: "clock",
    state: "fault",
    found: "{difference} the gateway's: AWS refuses this machine's signed requests",
    cause: "AWS accepts signatures that are at most five minutes old.",
    todo: "set this machine's clock, or synchronize it (timedatectl set-ntp true)",
  },

  regionOk: { check: "region", state: "ok", found: "{region}" },
  regionElsewhere: {
    check: "region",
    state: "skipped",
    found: "the gateway is not on AWS, or has a custom domain",
  },
  regionWithoutModel: {
    check: "region",
    state: "fault",
    found: "the gateway is in {region}, where {model} is not available",
    cause: "The model's id begins with another geography.",
    todo: "gsv config set model.id global.{family}",
  },
  regionDiffers: {
    check: "region",
    state: "warning",
    found: "the gateway is in {region}, but AWS_REGION in this terminal is {here}",
    cause: "`gsv deploy` deploys to the terminal's region, unless this config file remembers another.",
    todo: "pass --region {region} to `gsv deploy`; otherwise it creates a second gateway in {here}",
  },

  quotaElsewhere: {
    check: "quota",
    state: "skipped",
    found: "the gateway is not on AWS, or has a custom domain",
  },
  ...accountFindings,
  ...bedrockFindings,
} as const satisfies Record<string, Good | Bad>;
