import * as v from "valibot";
import type { PlatformRequest } from "../../../shared/http/platform-call.ts";
import type { SearchServiceName } from "./search-choice.ts";
import { maxHits, type RawHit } from "./web-hit.ts";

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
const result = v.object({
  ...{ title: text, url: v.string(), description: text, content: text },
  ...{ age: text, published_date: text, publishedDate: text },
});
const ofResults = v.object({ results: v.array(result) });
const ofBrave = v.object({ web: v.optional(ofResults) });

const toHits = (results: readonly v.InferOutput<typeof result>[]): RawHit[] =>
  results.map(({ title, url, description, content, age, published_date, publishedDate }) => ({
    ...{ title, url, published: age ?? published_date ?? publishedDate },
    // Brave marks the words of the query in HTML.
    snippet: (description ?? content ?? "").replaceAll(/<\/?strong>/g, ""),
  }));

export const searchServices: Readonly<Record<SearchServiceName, SearchService>> = {
  // https://api-dashboard.search.brave.com/api-reference/web/search/get
  brave: {
    baseUrl: "https://api.search.brave.com",
    path: "/res/v1/web/search",
    request: (query, apiKey = "") => ({
      method: "GET",
      parameters: { q: query, count: String(maxHits) },
      headers: { accept: "application/json", "x-subscription-token": apiKey },
    }),
    hits: (answer) => (v.is(ofBrave, answer) ? toHits(answer.web?.results ?? []) : undefined),
  },
  // https://docs.tavily.com/documentation/api-reference/endpoint/search
  tavily: {
    baseUrl: "https://api.tavily.com",
    path: "/search",
    request: (query, apiKey = "") => ({
      body: { query, max_results: maxHits },
      headers: { authorization: `Bearer ${apiKey}` },
    }),
    hits: (answer) => (v.is(ofResults, answer) ? toHits(answer.results) : undefined),
  },
  // https://docs.searxng.org/dev/search_api
  searxng: {
    path: "/search",
    request: (query, apiKey) => ({
      method: "GET",
      parameters: { q: query, format: "json" },
      ...(apiKey === undefined ? {} : { headers: { authorization: `Bearer ${apiKey}` } }),
    }),
    hits: (answer) => (v.is(ofResults, answer) ? toHits(answer.results) : undefined),
  },
};
