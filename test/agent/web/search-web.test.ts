import type { IncomingMessage } from "node:http";
import { afterEach, beforeEach, expect, it } from "vitest";
import { searchWeb } from "../../../functions/agent/web/search-web.ts";
import { serveLoopback } from "../../../local/http/loopback.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";

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

function search(provider: NonNullable<Configuration["web"]["search"]["provider"]>, signal?: AbortSignal) {
  const web = { fetch: true, search: { provider, baseUrl: `${server.origin}/`, apiKey: "***" } };
  return searchWeb({ ...defaults, web }, { get: async () => key }, "opening hours & more", signal);
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

it("SearXNG is asked, and returns at most eight results", async () => {
  const result = { title: "Zoo", url: hit.url, content: hit.snippet, publishedDate: null };
  answer = { status: 200, body: { results: Array(30).fill(result) } };
  expect(await search("searxng")).toEqual(Array(8).fill(hit));
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
  expect(await search("brave", AbortSignal.abort())).toMatchObject({
    error: "brave did not answer: no connection.",
  });
});
