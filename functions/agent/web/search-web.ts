import * as v from "valibot";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import { secretMarker } from "../../../shared/configuration/secret.ts";
import { callPlatform, type PlatformRequest, plainReason } from "../../../shared/http/platform-call.ts";
import type { Secrets } from "../../../shared/world/world.ts";

/** A search answers within 20 seconds, with at most 8 results. */
const timeoutMs = 20_000;
const maxHits = 8;

/** Maximum length of a result's title and text, in characters. */
const [maxTitle, maxSnippet] = [200, 500];

/** A result of a search. */
export interface WebHit {
  title: string;
  url: string;
  snippet: string;
  /** When the page was published, as the service says it. */
  published?: string;
}

type Provider = NonNullable<Configuration["web"]["search"]["provider"]>;

/** Searches the web. @returns the results, best first, or why there are none */
export type SearchWeb = (query: string, signal?: AbortSignal) => Promise<WebHit[] | { error: string }>;

/** A service that searches the web: its request for a query, and the results in its answer. */
interface SearchService {
  /** The default server; a service without one needs `web.search.baseUrl`. */
  baseUrl?: string;
  path: string;
  request(
    query: string,
    apiKey: string | undefined,
  ): PlatformRequest & { parameters?: Record<string, string> };
  hits(answer: unknown): readonly RawHit[] | undefined;
}

const text = v.optional(v.nullable(v.string()));
const rawHit = v.object({
  ...{ title: text, url: v.string(), description: text, content: text },
  ...{ age: text, published_date: text, publishedDate: text },
});
type RawHit = v.InferOutput<typeof rawHit>;
const ofResults = v.object({ results: v.array(rawHit) });
const ofBrave = v.object({ web: v.optional(ofResults) });

const services: Readonly<Record<Provider, SearchService>> = {
  // https://api-dashboard.search.brave.com/api-reference/web/search/get
  brave: {
    baseUrl: "https://api.search.brave.com",
    path: "/res/v1/web/search",
    request: (query, apiKey = "") => ({
      method: "GET",
      parameters: { q: query, count: String(maxHits) },
      headers: { accept: "application/json", "x-subscription-token": apiKey },
    }),
    hits: (answer) => (v.is(ofBrave, answer) ? (answer.web?.results ?? []) : undefined),
  },
  // https://docs.tavily.com/documentation/api-reference/endpoint/search
  tavily: {
    baseUrl: "https://api.tavily.com",
    path: "/search",
    request: (query, apiKey = "") => ({
      body: { query, max_results: maxHits },
      headers: { authorization: `Bearer ${apiKey}` },
    }),
    hits: (answer) => (v.is(ofResults, answer) ? answer.results : undefined),
  },
  // https://docs.searxng.org/dev/search_api
  searxng: {
    path: "/search",
    request: (query, apiKey) => ({
      method: "GET",
      parameters: { q: query, format: "json" },
      ...(apiKey === undefined ? {} : { headers: { authorization: `Bearer ${apiKey}` } }),
    }),
    hits: (answer) => (v.is(ofResults, answer) ? answer.results : undefined),
  },
};

/**
 * Searches the web with the configured service.
 * @returns the results, best first, or why there are none
 */
export async function searchWeb(
  { web }: Configuration,
  secrets: Pick<Secrets, "get">,
  query: string,
  signal?: AbortSignal,
): Promise<WebHit[] | { error: string }> {
  const { provider, baseUrl, apiKey: marker } = web.search;
  const service = provider && services[provider];
  if (!service) return { error: "No search service is configured (web.search.provider)." };
  const apiKey = marker === secretMarker ? await secrets.get("web.search.apiKey") : undefined;
  const { parameters = {}, ...request } = service.request(query, apiKey);
  const base = (baseUrl ?? service.baseUrl ?? "").replace(/\/+$/, "");
  const parts = new URLSearchParams(parameters).toString();
  const timeout = AbortSignal.timeout(timeoutMs);
  const called = await callPlatform(`${base}${service.path}${parts === "" ? "" : `?${parts}`}`, {
    ...request,
    signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
  });
  if (!called.answered) return { error: `${provider} did not answer: ${called.reason}.` };
  const hits = called.status === 200 ? service.hits(called.body) : undefined;
  if (hits) return hits.slice(0, maxHits).flatMap(toHit);
  const said = plainReason(JSON.stringify(called.body ?? ""), apiKey);
  return { error: `${provider} answered with ${called.status}: ${said}${hintFor(provider, called.status)}` };
}

function hintFor(provider: Provider | undefined, status: number): string {
  if (status === 403 && provider === "searxng") return ". Its settings.yml must allow the format json";
  return status === 401 || status === 403 ? ". The key may be wrong (web.search.apiKey)" : "";
}

function toHit({ title, url, description, content, age, published_date, publishedDate }: RawHit): WebHit[] {
  if (!/^https?:\/\//i.test(url)) return [];
  const published = age ?? published_date ?? publishedDate ?? undefined;
  // Brave marks the words of the query in HTML.
  const snippet = (description ?? content ?? "").replaceAll(/<\/?strong>/g, "");
  return [
    {
      title: (title ?? "").slice(0, maxTitle).toWellFormed(),
      url,
      snippet: snippet.slice(0, maxSnippet).toWellFormed(),
      ...(published === undefined ? {} : { published }),
    },
  ];
}
