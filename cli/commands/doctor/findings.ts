/**
 * The outcome of a check. `fault`: something does not work. `warning`: it works, but not as well as it could. `skipped`: it
 * was not checked, or does not concern this gateway.
 */
export type State = "ok" | "warning" | "fault" | "skipped";

interface Good {
  check: string;
  state: "ok" | "skipped";
  found: string;
  todo?: string;
}

/** A fault or a warning. */
interface Bad {
  check: string;
  state: "fault" | "warning";
  found: string;
  /** One sentence for docs/troubleshooting.md, unless `found` says it. `gsv doctor` does not show it. */
  cause?: string;
  todo: string;
}

/** Every finding of `gsv doctor`. The texts hold `{placeholders}`. docs/troubleshooting.md is generated from this table. */
export const findings = {
  nodeVersion: { check: "node", state: "ok", found: "{running}; gsv {version} of {place}" },
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
  portsUnknown: { check: "ports", state: "ok", found: "none was used yet" },
  portsTaken: {
    check: "ports",
    state: "warning",
    found: "another program uses {ports}",
    cause: "The local gateway had these ports at its last start.",
    todo: "end that program, or the local gateway takes other ports at its next start",
  },

  gatewayAnswers: {
    check: "gateway",
    state: "ok",
    found: "{url} answers in {ms} ms, version {there}",
  },
  gatewayVersions: {
    check: "gateway",
    state: "warning",
    found: "{url} answers in {ms} ms, version {there}; here it is {here}",
    todo: "bring both to one version: `gsv upgrade` here, `gsv deploy` there",
  },
  gatewaySilent: {
    check: "gateway",
    state: "fault",
    found: "{url} does not answer: {reason}",
    cause: "The gateway is not running, its address is wrong, or the network is down.",
    todo: "`gsv deploy status` or, for a local one, `gsv dev`",
  },

  tokenRefused: {
    check: "token",
    state: "fault",
    found: "{url} refuses it",
    cause: "The token was revoked, or belongs to another gateway.",
    todo: "an owner makes another with `gsv token create`; `gsv init --token -` saves it, and `gsv deploy` makes one for the person who deployed",
  },
  tokenAdmin: { check: "token", state: "ok", found: "has every scope; {tokens} valid" },
  tokenClient: {
    check: "token",
    state: "ok",
    found: "may chat and read; settings and tokens need one with the scope admin",
  },

  modelOffline: {
    check: "model",
    state: "warning",
    found: "the built-in offline model follows rules; it is no language model",
    cause: "No key and no server of a model was set when the gateway started.",
    todo: "`gsv config set model …`, or start `gsv dev` with ANTHROPIC_API_KEY or GSV_MODEL_BASE_URL set",
  },
  modelAtServer: { check: "model", state: "ok", found: "{name} at {baseUrl}" },
  modelServerAnswers: { check: "model", state: "ok", found: "{name}; its server {baseUrl} answers" },
  modelServerSilent: {
    check: "model",
    state: "fault",
    found: "nothing answers at {baseUrl}",
    todo: "start the server of {id}, such as Ollama",
  },
  modelByRole: { check: "model", state: "ok", found: "{name}, by the rights of the functions' role" },
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
    found: "{account} works, and has no owner: everyone who writes there is a guest",
    todo: "gsv pair approve {channel} <your id> --owner",
  },

  clockLocal: { check: "clock", state: "skipped", found: "the gateway has the same" },
  clockUnknown: { check: "clock", state: "skipped", found: "{door} does not tell the time" },
  clockAgrees: { check: "clock", state: "ok", found: "agrees with the gateway's" },
  clockOff: {
    check: "clock",
    state: "warning",
    found: "{difference} the gateway's",
    todo: "set this machine's clock, or let it set itself (timedatectl set-ntp true)",
  },
  clockRefused: {
    check: "clock",
    state: "fault",
    found: "{difference} the gateway's: AWS refuses what this machine signs",
    cause: "AWS accepts signatures that are at most five minutes old.",
    todo: "set this machine's clock, or let it set itself (timedatectl set-ntp true)",
  },

  regionOk: { check: "region", state: "ok", found: "{region}" },
  regionElsewhere: {
    check: "region",
    state: "skipped",
    found: "the gateway is not on AWS, or has a name of its own",
  },
  regionWithoutModel: {
    check: "region",
    state: "fault",
    found: "the gateway is in {region}, where {model} cannot be asked",
    cause: "The model's id begins with the name of another part of the world.",
    todo: "gsv config set model.id global.{family}",
  },
  regionDiffers: {
    check: "region",
    state: "warning",
    found: "the gateway is in {region}, this terminal's AWS_REGION is {here}",
    cause: "`gsv deploy` goes to the terminal's region.",
    todo: "give `gsv deploy` --region {region}, or it makes a second gateway in {here}",
  },

  quotaElsewhere: {
    check: "quota",
    state: "skipped",
    found: "the gateway is not on AWS, or has a name of its own",
  },
  quotaUnknown: {
    check: "quota",
    state: "skipped",
    found: "the AWS command line does not tell it{reason}",
    todo: "docs/operations.md, “The quota of Bedrock”, has the command that does",
  },
  quotaFunctions: { check: "quota", state: "ok", found: "{executions} functions may run at once" },
  quotaFewFunctions: {
    check: "quota",
    state: "warning",
    found: "only {executions} functions may run at once",
    cause: "A new AWS account has a low quota of concurrent executions.",
    todo: "request more (docs/operations.md, “The quota of Lambda”)",
  },
  quotaOtherModel: {
    check: "quota",
    state: "skipped",
    found: "of {model}: `aws service-quotas list-service-quotas --service-code bedrock`",
  },
  quotaUnnamed: { check: "quota", state: "skipped", found: "AWS names none of {name} in {region}" },
  quotaTokens: { check: "quota", state: "ok", found: "{name}: {tokens} tokens a minute in {region}" },
  quotaFewTokens: {
    check: "quota",
    state: "warning",
    found: "{name}: {tokens} tokens a minute in {region}",
    cause: "A new AWS account has a low quota for the model; turns wait for it.",
    todo: "request more (docs/operations.md, “The quota of Bedrock”), or choose another model",
  },
} as const satisfies Record<string, Good | Bad>;
