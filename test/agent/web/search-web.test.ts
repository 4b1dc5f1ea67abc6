import type { IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Payment } from "../../../functions/agent/model/model-call.ts";
import { chooseSearch } from "../../../functions/agent/web/search-choice.ts";
import { searchWeb } from "../../../functions/agent/web/search-web.ts";
import { serveLoopback } from "../../../local/http/loopback.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import { readDay } from "../../../shared/spend/day-view.ts";
import { SessionAccount } from "../../../shared/spend/session-account.ts";
import { newBook, newPayment } from "../../support/payment.ts";

const key = "key-of-the-service";
let server: Awaited<ReturnType<typeof serveLoopback>>;
let asked: { method?: string; path?: string; headers: IncomingMessage["headers"]; body: string }[];
let answer: { status: number; body: unknown };
beforeEach(async () => {
  asked = [];
  server = await serveLoopback(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    asked.push({ method: request.method ?? "", path: request.url ?? "", headers: request.headers, body });
    response
      .writeHead(answer.status, { "content-type": "application/json" })
      .end(JSON.stringify(answer.body));
  });
});
afterEach(() => server.close());

type Search = Configuration["web"]["search"];

async function search(
  provider: NonNullable<Search["provider"]>,
  {
    signal,
    payment = newPayment(),
    ...more
  }: Partial<Search> & { signal?: AbortSignal; payment?: Payment } = {},
) {
  const web = { fetch: true, search: { provider, baseUrl: `${server.origin}/`, apiKey: "***", ...more } };
  const keys = {
    configuration: { load: async () => ({ ...defaults, web }) },
    secrets: { get: async () => key },
  };
  const found = await searchWeb(keys, "opening hours & more", { model: defaults.model, payment, signal });
  return "error" in found ? found : found.results;
}
const hit = { title: "Zoo", url: "https://zoo.example/hours", snippet: "Open from 9 to 5." };

it("Brave is asked, and its marks of words are removed", async () => {
  const result = {
    title: "Zoo",
    url: hit.url,
    description: "<strong>Open</strong> from 9 to 5.",
    age: "2 days ago",
  };
  answer = { status: 200, body: { web: { results: [result, { ...result, url: "javascript:alert(1)" }] } } };
  expect(await search("brave")).toEqual([{ ...hit, published: "2 days ago" }]);
  expect(asked).toMatchObject([
    {
      ...{ method: "GET", path: "/res/v1/web/search?q=opening+hours+%26+more&count=8" },
      headers: { "x-subscription-token": key },
    },
  ]);
  answer.body = {};
  expect(await search("brave")).toEqual([]);
});

it("Tavily is asked", async () => {
  answer = {
    status: 200,
    body: { results: [{ title: "Zoo", url: hit.url, content: hit.snippet, score: 0.9 }] },
  };
  expect(await search("tavily")).toEqual([hit]);
  expect(asked).toMatchObject([
    { method: "POST", path: "/search", headers: { authorization: `Bearer ${key}` } },
  ]);
  expect(JSON.parse(asked[0]?.body ?? "")).toEqual({ query: "opening hours & more", max_results: 8 });
});

it("SearXNG is asked, and returns at most eight results, each address once", async () => {
  const result = { title: "Zoo", content: hit.snippet, publishedDate: null };
  const urls = Array.from({ length: 30 }, (_, n) => `${hit.url}/${n}`);
  const results = urls.flatMap((url) => [
    { ...result, url },
    { ...result, url },
  ]);
  answer = { status: 200, body: { results } };
  expect(await search("searxng")).toEqual(urls.slice(0, 8).map((url) => ({ ...hit, url })));
  expect(asked).toMatchObject([{ method: "GET", path: "/search?q=opening+hours+%26+more&format=json" }]);
});

it("a refusal is a sentence without the key", async () => {
  answer = { status: 401, body: { detail: `the key ${key} is unknown` } };
  expect(await search("tavily")).toEqual({
    error:
      'tavily answered with 401: {"detail":"the key *** is unknown"}. The key may be wrong (web.search.apiKey)',
  });
  answer = { status: 403, body: "Forbidden" };
  expect(await search("searxng")).toMatchObject({
    error: expect.stringContaining("must allow the format json"),
  });
  answer = { status: 200, body: { results: "none" } };
  expect(await search("tavily")).toMatchObject({
    error: expect.stringContaining("tavily answered with 200"),
  });
  expect(await search("brave", { signal: AbortSignal.abort() })).toMatchObject({
    error: "brave did not answer: no connection.",
  });
});

describe("what a search costs", () => {
  const rules = [{ id: "day", scope: "all", usd: 0.02, atLimit: "refuse" }] as const;
  const row = (name: string, ...numbers: number[]) => [[`turn|main|||search/${name}`, numbers]];

  /** Searches, and reads what the day says. */
  async function spent(
    provider: NonNullable<Search["provider"]>,
    more: Partial<Search> = {},
    times = 1,
    budgets: Partial<Configuration["budgets"]> = {},
  ) {
    const book = newBook(budgets);
    const { occasion } = newPayment();
    const account = new SessionAccount(book, "agent:main:main", 1);
    const found = [];
    for (let time = 0; time < times; time++)
      found.push(await search(provider, { ...more, payment: { account, occasion } }));
    await account.settle();
    const { sums, rows } = await readDay(book.table, new Date().toISOString().slice(0, 10));
    return { found, micros: sums.all ?? 0, rows: [...rows] };
  }

  beforeEach(() => {
    answer = { status: 200, body: { web: { results: [] }, results: [] } };
  });

  it("is the price of the setting, and nothing for SearXNG", async () => {
    expect(await spent("brave", { pricePerSearch: 0.003 })).toMatchObject({
      micros: 3000,
      rows: row("brave", 1, 0, 0, 0, 0, 3000, 0, 0, 0),
    });
    expect(await spent("searxng")).toMatchObject({ micros: 0 });
    expect(await spent("tavily", { pricePerSearch: 0 })).toMatchObject({ micros: 0 });
  });

  it("is an estimate, and marked, where no price is known", async () => {
    expect(await spent("tavily")).toMatchObject({
      micros: 10_000,
      rows: row("tavily", 1, 2000, 0, 0, 0, 10_000, 1, 0, 0),
    });
    const { found } = await spent("brave", {}, 1, { unknownPrice: "refuse" });
    expect(found).toEqual([{ error: expect.stringContaining("the price of search/brave is unknown") }]);
  });

  it("is the list price at the service itself", async () => {
    const { fetch } = globalThis;
    globalThis.fetch = async () => Response.json(answer.body);
    try {
      expect(await spent("brave", { baseUrl: undefined as never })).toMatchObject({ micros: 5000 });
      expect(await spent("tavily", { baseUrl: undefined as never })).toMatchObject({ micros: 8000 });
    } finally {
      globalThis.fetch = fetch;
    }
  });

  it("is reserved before it is asked, and nothing is asked above a limit", async () => {
    const { found, micros } = await spent("brave", { pricePerSearch: 0.008 }, 4, { rules: [...rules] });
    expect(found.map((one) => Array.isArray(one))).toEqual([true, true, false, false]);
    expect(found[2]).toEqual({ error: expect.stringContaining("today's limit of $0.0200 is reached") });
    expect([asked.length, micros]).toEqual([2, 16_000]);
  });

  it("is nothing if the service refuses, and all of it if nobody knows", async () => {
    answer = { status: 429, body: {} };
    expect(await spent("brave", { pricePerSearch: 0.003 })).toMatchObject({ micros: 0 });
    answer = { status: 200, body: { results: "none" } };
    expect(await spent("tavily", { pricePerSearch: 0.003 })).toMatchObject({ micros: 3000 });
  });
});

describe("who searches", () => {
  const choose = (
    model: string,
    search: Search = {},
    apiKeys: Configuration["apiKeys"] = {},
    baseUrl?: string,
  ) => {
    const [provider = "", id = ""] = model.split("/");
    const chosen = { provider, id, ...(baseUrl ? { baseUrl } : {}) };
    return chooseSearch({ web: { fetch: true, search }, apiKeys }, chosen);
  };
  const keys = { anthropic: "***", openai: "***", google: "***", groq: "***" };

  it.each([
    ...["anthropic/claude-sonnet-4-6", "anthropic/claude-haiku-4-5", "openai/gpt-5", "openai/gpt-4.1-mini"],
    ...["openai/o4-mini", "google/gemini-2.5-pro", "google/gemini-3-flash-preview"],
  ])("is the provider of %s, if nothing is configured and its key is set", (model) => {
    expect(choose(model, {}, keys)).toBe("model");
    expect(choose(model)).toBeUndefined();
    expect(choose(model, { provider: "none" }, keys)).toBeUndefined();
    expect(choose(model, {}, keys, "https://proxy.example")).toBeUndefined();
    expect(choose(model, { provider: "brave", apiKey: "***" }, keys)).toBe("brave");
    expect(choose(model, { provider: "brave" }, keys)).toBeUndefined();
  });

  it.each([
    ...["groq/llama", "anthropic/claude-3-opus-20240229", "openai/gpt-4.1-nano", "openai/gpt-3.5-turbo"],
    ...["openai/o1", "google/gemini-1.5-pro", "google/gemini-2.5-flash-image", "constructor/gpt-5"],
  ])("is nobody for %s", (model) => {
    expect(choose(model, {}, keys)).toBeUndefined();
  });
});
