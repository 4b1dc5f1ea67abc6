import type { Configuration, ModelConfiguration } from "../../../shared/configuration/schema.ts";

/** A service that the configuration can name. */
export type SearchServiceName = Exclude<NonNullable<Configuration["web"]["search"]["provider"]>, "none">;

/** Who searches: a configured service, or the provider of the model. */
export type SearchChoice = SearchServiceName | "model";

/** Providers with a search tool, and the models that it works with. */
const searching: Readonly<Record<string, RegExp>> = {
  anthropic: /^claude-(?!2|instant|3-(?:opus|sonnet|haiku|5-sonnet))/,
  openai: /^(?:gpt-(?:4o(?!-(?:audio|realtime))|4\.1(?!-nano)|[5-9])|o[34])/,
  google: /^gemini-[2-9](?!.*(?:image|tts|live|embedding))/,
};

/** Who searches the web for a model; undefined if the settings name nobody who can be asked. */
export function chooseSearch(
  { web, apiKeys }: Pick<Configuration, "web" | "apiKeys">,
  model: ModelConfiguration,
): SearchChoice | undefined {
  const { provider, baseUrl, apiKey } = web.search;
  if (provider === "none") return undefined;
  if (provider !== undefined)
    return (provider === "searxng" ? baseUrl : apiKey) === undefined ? undefined : provider;
  // A server of one's own may speak the provider's language, but has no search.
  if (model.baseUrl !== undefined || apiKeys[model.provider] === undefined) return undefined;
  const models = Object.hasOwn(searching, model.provider) ? searching[model.provider] : undefined;
  return models?.test(model.id) ? "model" : undefined;
}
