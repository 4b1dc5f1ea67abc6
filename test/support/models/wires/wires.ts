import { defaults } from "../../../../shared/configuration/defaults.ts";
import type { ModelConfiguration } from "../../../../shared/configuration/schema.ts";
import { bedrockProvider, compatibleProvider } from "../../../../shared/session/commands/model-choice.ts";
import { startAnthropicServer } from "../anthropic-server.ts";
import { startOpenAiServer } from "../openai-server.ts";
import type { ModelServer, Script } from "../scripted-model.ts";
import { startBedrockServer } from "./bedrock-server.ts";
import { startGoogleServer } from "./google-server.ts";
import { startMistralBehindOpenAi, startMistralServer } from "./mistral-server.ts";

/** A wire format, and a server that refuses what the real ones refuse. */
export interface Wire {
  start(script: Script): Promise<ModelServer>;
  model: Omit<ModelConfiguration, "baseUrl">;
  /** The path to append to the server's address. */
  path?: string;
}

/** Every wire format of the gateway, by name. */
export const wires: Record<string, Wire> = {
  "Anthropic Messages": {
    start: startAnthropicServer,
    model: { provider: "anthropic", id: "claude-sonnet-4-6" },
  },
  "OpenAI Responses": { start: startOpenAiServer, model: { provider: "openai", id: "gpt-5" } },
  "OpenAI chat completions": { start: startOpenAiServer, model: { provider: compatibleProvider, id: "m" } },
  "Amazon Bedrock Converse": {
    start: startBedrockServer,
    model: { provider: bedrockProvider, id: defaults.model.id },
  },
  "Google Gemini": { start: startGoogleServer, model: { provider: "google", id: "gemini-2.5-pro" } },
  Mistral: { start: startMistralServer, model: { provider: "mistral", id: "mistral-large-latest" } },
  "a Mistral model behind OpenAI's API": {
    start: startMistralBehindOpenAi,
    model: { provider: compatibleProvider, id: "mistral-small" },
    path: "/v1",
  },
};

/** Environment with which Amazon Bedrock's client calls a server on this machine. */
export const bedrockEnvironment = {
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  AWS_BEDROCK_FORCE_HTTP1: "1",
  AWS_MAX_ATTEMPTS: "1",
};
