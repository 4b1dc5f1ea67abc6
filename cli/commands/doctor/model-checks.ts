import { isOffline } from "../../../local/dev/dev-model.ts";
import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
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

/** Compares the terminal's region with that of the gateway. */
export function checkRegion(region: string, env: Record<string, string | undefined>): Finding {
  const here = env.AWS_REGION || env.AWS_DEFAULT_REGION;
  if (here && here !== region) return finding("regionDiffers", { region, here });
  return finding("regionOk", { region });
}
