import { isOffline } from "../../../local/dev/dev-model.ts";
import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import type { RunProgram } from "../program/run-program.ts";
import { type Finding, finding } from "./finding.ts";

const bedrock = "amazon-bedrock";

/** The gateway's default model. */
export async function configuredModel(gateway: Gateway): Promise<ModelConfiguration> {
  const answer = await gateway.request("config.get", { path: "model" });
  return ("value" in answer ? answer.value : {}) as ModelConfiguration;
}

/**
 * Checks that the model has a key or that its server answers. Does not call the model, because that would cost money.
 * @param isLocal the gateway runs on this machine, and reaches the same servers
 */
export async function checkModel(
  gateway: Gateway,
  model: ModelConfiguration,
  isLocal: boolean,
): Promise<Finding> {
  const { provider, id, baseUrl } = model;
  const name = `${provider}/${id}`;
  if (isOffline(model)) return finding("modelOffline");
  if (baseUrl !== undefined)
    return isLocal ? checkServer(name, id, baseUrl) : finding("modelAtServer", { name, baseUrl });
  if (provider === bedrock) return finding("modelByRole", { name });
  const keys = await gateway.request("config.get", { path: "apiKeys" });
  const set = ("value" in keys ? keys.value : {}) as Record<string, string> | null;
  if (set !== null && Object.hasOwn(set, provider)) return finding("modelWithKey", { name });
  return finding("modelWithoutKey", { name, provider });
}

async function checkServer(name: string, id: string, baseUrl: string): Promise<Finding> {
  try {
    await fetch(`${baseUrl.replace(/\/$/, "")}/models`, { signal: AbortSignal.timeout(5000) });
    return finding("modelServerAnswers", { name, baseUrl });
  } catch {
    return finding("modelServerSilent", { baseUrl, id });
  }
}

/** The regions of each geography with which the ids of Bedrock's inference profiles begin. */
const geographies: Record<string, RegExp> = {
  us: /^us-/,
  eu: /^eu-/,
  apac: /^ap-/,
  jp: /^ap-northeast-/,
  au: /^ap-southeast-/,
};

/** Checks that the gateway's region offers the model and is the terminal's region. @param region of the gateway */
export function checkRegion(
  region: string,
  model: ModelConfiguration,
  env: Record<string, string | undefined>,
): Finding {
  const [, geography = ""] = /^([a-z]+)\.[a-z]/.exec(model.id) ?? [];
  const suits = geographies[geography];
  if (model.provider === bedrock && suits && !suits.test(region))
    return finding("regionWithoutModel", {
      region,
      model: model.id,
      family: model.id.slice(geography.length + 1),
    });
  const here = env.AWS_REGION || env.AWS_DEFAULT_REGION;
  if (here && here !== region) return finding("regionDiffers", { region, here });
  return finding("regionOk", { region });
}

/** Below this quota of tokens per minute, a turn of a few calls has to wait. */
const fewTokens = 100_000;

/** The quota of concurrent executions of a new account. A gateway with some peers needs more. */
const fewExecutions = 10;

/** Checks the account's quotas that limit the gateway, using the AWS command line. */
export async function checkQuota(
  region: string,
  model: ModelConfiguration,
  run: RunProgram,
): Promise<Finding[]> {
  const lambda = await run("aws", [
    ...["lambda", "get-account-settings", "--region", region],
    ...["--query", "AccountLimit.ConcurrentExecutions", "--output", "text"],
  ]);
  if (lambda.code !== 0)
    return [
      finding("quotaUnknown", { reason: lambda.stderr ? ` (${lambda.stderr.split("\n").at(-1)})` : "" }),
    ];
  const executions = Number(lambda.stdout);
  const ofLambda = finding(executions > fewExecutions ? "quotaFunctions" : "quotaFewFunctions", {
    executions,
  });
  return model.provider === bedrock ? [ofLambda, await checkTokens(region, model, run)] : [ofLambda];
}

async function checkTokens(
  region: string,
  { id: model }: ModelConfiguration,
  run: RunProgram,
): Promise<Finding> {
  // Quota names call `global.anthropic.claude-sonnet-4-6` “Claude Sonnet 4.6”.
  const [, family = "", major = "", minor] = /claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?(?!\d)/.exec(model) ?? [];
  const name = `${family[0]?.toUpperCase() ?? ""}${family.slice(1)} ${major}${minor === undefined ? "" : `.${minor}`}`;
  if (family === "") return finding("quotaOtherModel", { model });
  const quotas = await run("aws", [
    ...["service-quotas", "list-service-quotas", "--service-code", "bedrock", "--region", region],
    ...["--output", "json", "--query"],
    `Quotas[?contains(QuotaName,'${name}') && contains(QuotaName,'okens per minute')].[QuotaName,Value]`,
  ]);
  const found = quotas.code === 0 ? (JSON.parse(quotas.stdout) as [string, number][]) : [];
  if (found.length === 0) return finding("quotaUnnamed", { name, region });
  const tokens = Math.max(...found.map(([, value]) => value));
  return finding(tokens >= fewTokens ? "quotaTokens" : "quotaFewTokens", { name, tokens, region });
}
