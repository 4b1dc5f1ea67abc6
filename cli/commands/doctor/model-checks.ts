import { isOffline } from "../../../local/dev/dev-model.ts";
import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import type { RunProgram } from "../program/run-program.ts";
import { type Finding, finding } from "./finding.ts";

const bedrock = "amazon-bedrock";

/** The model that the gateway asks when nothing else is chosen. */
export async function configuredModel(gateway: Gateway): Promise<ModelConfiguration> {
  const answer = await gateway.request("config.get", { path: "model" });
  return ("value" in answer ? answer.value : {}) as ModelConfiguration;
}

/**
 * Whether the model can be asked: its key is there, or its server answers. It is not asked, which would cost money.
 * @param isLocal the gateway runs on this machine, and reaches what this machine reaches
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

/** Regions of the geographies that the ids of Bedrock's inference profiles begin with. */
const geographies: Record<string, RegExp> = {
  us: /^us-/,
  eu: /^eu-/,
  apac: /^ap-/,
  jp: /^ap-northeast-/,
  au: /^ap-southeast-/,
};

/** Whether the gateway's region is the one that deployments go to, and suits the model. @param region of the gateway */
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

/** Tokens a minute below which a turn of a few calls waits for the quota. */
const fewTokens = 100_000;

/** Concurrent executions of a new account; a gateway with some peers needs more. */
const fewExecutions = 10;

/** The quotas of the account that limit the gateway, as the AWS command line tells them. */
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
  // `global.anthropic.claude-sonnet-4-6` is “Claude Sonnet 4.6” in the names of quotas.
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
