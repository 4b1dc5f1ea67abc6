import * as v from "valibot";
import { usageOf } from "../../../shared/spend/pay-for.ts";
import type { PricedUsage } from "../../../shared/spend/price.ts";
import type { RawHit } from "./web-hit.ts";

/** Max tokens of an answer, with those of its reasoning. */
export const maxAnswerTokens = 4096;

/** What a model has found. `searches`: how many it is paid for. */
export interface ModelFound {
  hits: RawHit[];
  text: string;
  usage: PricedUsage;
  searches: number;
}

/** The search tool of a provider: its request, and what its answer says. */
interface ModelSearch {
  /** Searches that one call makes, as far as it can be limited. */
  maxSearches: number;
  path(model: string): string;
  headers(apiKey: string): Record<string, string>;
  body(model: string, prompt: string): object;
  read(answer: unknown): ModelFound | undefined;
}

const text = v.optional(v.nullable(v.string()));
const tokens = v.optional(v.number(), 0);

const page = v.object({ type: v.literal("web_search_result"), url: v.string(), title: text, page_age: text });
const ofAnthropic = v.object({
  content: v.array(
    v.object({
      type: v.string(),
      text,
      content: v.optional(v.unknown()),
      citations: v.optional(v.nullable(v.array(v.object({ url: text, title: text, cited_text: text })))),
    }),
  ),
  usage: v.object({
    ...{ input_tokens: tokens, output_tokens: tokens },
    ...{ cache_creation_input_tokens: tokens, cache_read_input_tokens: tokens },
    server_tool_use: v.optional(v.nullable(v.object({ web_search_requests: tokens }))),
  }),
});

const ofOpenAi = v.object({
  output: v.array(
    v.object({
      type: v.string(),
      action: v.optional(v.object({ type: text })),
      content: v.optional(
        v.array(
          v.object({
            text,
            annotations: v.optional(v.array(v.object({ type: text, url: text, title: text }))),
          }),
        ),
      ),
    }),
  ),
  usage: v.object({
    ...{ input_tokens: tokens, output_tokens: tokens },
    input_tokens_details: v.optional(v.nullable(v.object({ cached_tokens: tokens }))),
  }),
});

const ofGoogle = v.object({
  candidates: v.array(
    v.object({
      content: v.optional(
        v.object({ parts: v.optional(v.array(v.object({ text, thought: v.optional(v.boolean()) })), []) }),
      ),
      groundingMetadata: v.optional(
        v.object({
          webSearchQueries: v.optional(v.array(v.string()), []),
          groundingChunks: v.optional(
            v.array(v.object({ web: v.optional(v.object({ uri: text, title: text })) })),
            [],
          ),
          groundingSupports: v.optional(
            v.array(
              v.object({
                segment: v.optional(v.object({ text })),
                groundingChunkIndices: v.optional(v.array(v.number()), []),
              }),
            ),
            [],
          ),
        }),
      ),
    }),
  ),
  usageMetadata: v.object({
    ...{ promptTokenCount: tokens, toolUsePromptTokenCount: tokens, cachedContentTokenCount: tokens },
    ...{ candidatesTokenCount: tokens, thoughtsTokenCount: tokens },
  }),
});

/** By provider. */
export const modelSearches: Readonly<Record<string, ModelSearch>> = {
  // https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
  anthropic: {
    maxSearches: 1,
    path: () => "/v1/messages",
    headers: (apiKey) => ({ "x-api-key": apiKey, "anthropic-version": "2023-06-01" }),
    body: (model, prompt) => ({
      ...{ model, max_tokens: maxAnswerTokens, messages: [{ role: "user", content: prompt }] },
      tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 1 }],
    }),
    read(answer) {
      if (!v.is(ofAnthropic, answer)) return undefined;
      const { content, usage } = v.parse(ofAnthropic, answer);
      const cited = content.flatMap(({ citations }) => citations ?? []);
      const pages = content.flatMap(({ content }) => (Array.isArray(content) ? content : []));
      const hits = pages.flatMap((one): RawHit[] => {
        if (!v.is(page, one)) return [];
        const { url, title, page_age: published } = one;
        const parts = cited.filter((part) => part.url === url).map((part) => part.cited_text ?? "");
        return [{ url, title, published, snippet: parts.join(" … ") }];
      });
      const { cache_creation_input_tokens: cacheWrite, cache_read_input_tokens: cacheRead } = usage;
      return {
        hits: citedFirst(hits),
        text: content.map((block) => (block.type === "text" ? (block.text ?? "") : "")).join(""),
        usage: { input: usage.input_tokens, output: usage.output_tokens, cacheRead, cacheWrite },
        searches: usage.server_tool_use?.web_search_requests ?? 0,
      };
    },
  },
  // https://developers.openai.com/api/docs/guides/tools-web-search
  openai: {
    maxSearches: 1,
    path: () => "/responses",
    headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    body: (model, prompt) => ({
      ...{ model, input: prompt, max_output_tokens: maxAnswerTokens, store: false },
      ...{ tools: [{ type: "web_search" }], max_tool_calls: 1 },
    }),
    read(answer) {
      if (!v.is(ofOpenAi, answer)) return undefined;
      const { output, usage } = v.parse(ofOpenAi, answer);
      const parts = output.flatMap(({ content }) => content ?? []);
      const { cached_tokens: cacheRead = 0 } = usage.input_tokens_details ?? {};
      return {
        hits: parts.flatMap(({ annotations = [] }) =>
          annotations.map(({ url, title }) => ({ url: withoutSource(url ?? ""), title })),
        ),
        text: parts.map((part) => part.text ?? "").join(""),
        usage: {
          input: usage.input_tokens - cacheRead,
          output: usage.output_tokens,
          cacheRead,
          cacheWrite: 0,
        },
        // Opening a page that was found, and finding words in it, is no search.
        searches: output.filter(
          ({ type, action }) => type === "web_search_call" && (action?.type ?? "search") === "search",
        ).length,
      };
    },
  },
  // https://ai.google.dev/gemini-api/docs/google-search
  google: {
    maxSearches: 5,
    path: (model) => `/models/${model}:generateContent`,
    headers: (apiKey) => ({ "x-goog-api-key": apiKey }),
    body: (_model, prompt) => ({
      contents: [{ role: "user", parts: [{ text: prompt }] }],
      tools: [{ google_search: {} }],
      generationConfig: { maxOutputTokens: maxAnswerTokens },
    }),
    read(answer) {
      if (!v.is(ofGoogle, answer)) return undefined;
      const { candidates, usageMetadata: usage } = v.parse(ofGoogle, answer);
      const [{ content, groundingMetadata } = {}] = candidates;
      const { webSearchQueries = [], groundingChunks = [], groundingSupports = [] } = groundingMetadata ?? {};
      const input = usage.promptTokenCount + usage.toolUsePromptTokenCount;
      return {
        hits: groundingChunks.map(({ web }, index) => ({
          ...{ url: web?.uri ?? "", title: web?.title },
          snippet: groundingSupports
            .filter(({ groundingChunkIndices }) => groundingChunkIndices.includes(index))
            .map(({ segment }) => segment?.text ?? "")
            .join(" … "),
        })),
        text: (content?.parts ?? []).map((part) => (part.thought ? "" : (part.text ?? ""))).join(""),
        usage: usageOf(input, usage.candidatesTokenCount + usage.thoughtsTokenCount),
        searches: new Set(webSearchQueries.filter((query) => query !== "")).size,
      };
    },
  },
};

const citedFirst = (hits: readonly RawHit[]) => [
  ...hits.filter(({ snippet }) => snippet !== ""),
  ...hits.filter(({ snippet }) => snippet === ""),
];

/** Without the mark that OpenAI adds to the addresses that it cites. */
const withoutSource = (url: string) =>
  url.replace(/([?&])utm_source=openai(?:&|$)/, "$1").replace(/[?&]$/, "");
