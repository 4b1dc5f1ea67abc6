import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { bedrockProvider, compatibleProvider } from "../../../shared/session/commands/model-choice.ts";

/** Self-hosted model servers by their default port. */
const servers: Record<string, string> = { "11434": "Ollama", "1234": "LM Studio", "8080": "llama.cpp" };

/** A failed call, with the known facts about the failure. */
export interface FailedCall {
  chosen: ModelConfiguration;
  /** The address that was called. */
  address: string;
  /** The code of a connection that could not be made, such as ECONNREFUSED, or a reason without a code. */
  unreachable?: string;
  /** The HTTP status of the provider's answer. */
  status?: number;
  /** The provider's error message. */
  words: string;
}

/**
 * What is wrong and what to do, as one sentence; undefined for a failure that only the provider's message explains.
 * `passes`: temporary, the user need not do anything.
 */
export function failureSentence(call: FailedCall): { text: string; passes?: true } | undefined {
  const { chosen, unreachable, status, words } = call;
  const address = withoutKeys(call.address);
  if (unreachable !== undefined) return { text: unreachableText(address, unreachable) };
  const who = chosen.baseUrl ? `the server at ${withoutKeys(chosen.baseUrl)}` : chosen.provider;
  if (/insufficient_quota|credit balance|billing|payment required/i.test(words) || status === 402)
    return {
      text: `the account at ${who} has no credit left; add some there, or choose another model with /model`,
    };
  // Users of channels see these texts too, so they must not contain an address.
  const named = chosen.provider === compatibleProvider ? "the model's server" : chosen.provider;
  if (status === 429) return { text: `rate limited by ${named}`, passes: true };
  if (status === 529 || /overloaded/i.test(words)) return { text: `${named} is overloaded`, passes: true };
  // Bedrock's messages about permissions are fixed in AWS, not in this configuration.
  if (chosen.provider === bedrockProvider) return undefined;
  if (status === 401)
    return {
      text: `${who} does not accept the key; set another: gsv config set apiKeys.${chosen.provider} -`,
    };
  if (status === 404) return { text: notFoundText(who, call) };
  return undefined;
}

/** An address without its user, password and query. */
function withoutKeys(address: string): string {
  return address.replace(/\/\/[^/?#]*@/, "//").replace(/[?#].*$/s, "");
}

function unreachableText(address: string, code: string): string {
  const check = "check the address (model.baseUrl) and the network";
  if (code === "ECONNREFUSED")
    return `nothing listens at ${address}; is ${servers[new URL(address).port] ?? "its server"} running?`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `the host of ${address} was not found; ${check}`;
  if (/CERT|TLS|SSL|SIGNATURE|ISSUER/.test(code))
    return `the certificate of ${address} is not valid (${code})`;
  return `${address} cannot be reached (${code}); ${check}`;
}

function notFoundText(who: string, { chosen, address, words }: FailedCall): string {
  if (!/model/i.test(words)) return `${who} has no chat completions there; check the address (model.baseUrl)`;
  const isOllama = URL.canParse(address) && new URL(address).port === "11434";
  const remedy = isOllama ? `fetch it: ollama pull ${chosen.id}` : "choose another with /model";
  return `${who} has no model ${chosen.id}; ${remedy}`;
}
