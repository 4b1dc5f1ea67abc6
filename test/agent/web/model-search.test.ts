import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { searchWeb } from "../../../functions/agent/web/search-web.ts";
import { serveLoopback } from "../../../local/http/loopback.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import { readDay } from "../../../shared/spend/day-view.ts";
import { SessionAccount } from "../../../shared/spend/session-account.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { newBook, newPayment } from "../../support/payment.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

/** Answers as the providers' references show them, with fields that nobody here reads. */
const answers = {
  "anthropic/claude-sonnet-4-6": {
    id: "msg_1",
    type: "message",
    role: "assistant",
    stop_reason: "end_turn",
    content: [
      { type: "text", text: "I'll look. " },
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "zoo hours" } },
      {
        type: "web_search_tool_result",
        tool_use_id: "srvtoolu_1",
        content: [
          { type: "web_search_result", url: "https://zoo.example/map", title: "Map", encrypted_content: "x" },
          {
            ...{ type: "web_search_result", url: "https://zoo.example/hours", title: "Hours" },
            ...{ encrypted_content: "x", page_age: "April 30, 2026" },
          },
        ],
      },
      {
        type: "text",
        text: "It opens at 9.",
        citations: [
          {
            ...{ type: "web_search_result_location", url: "https://zoo.example/hours", title: "Hours" },
            ...{ encrypted_index: "x", cited_text: "Open from 9 to 5." },
          },
        ],
      },
    ],
    usage: {
      ...{
        input_tokens: 6000,
        output_tokens: 900,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      },
      server_tool_use: { web_search_requests: 1 },
    },
  },
  "openai/gpt-5": {
    id: "resp_1",
    status: "completed",
    output: [
      { type: "reasoning", id: "rs_1", summary: [] },
      { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "zoo" } },
      { type: "web_search_call", id: "ws_2", status: "completed", action: { type: "open_page", url: "x" } },
      {
        type: "message",
        role: "assistant",
        content: [
          {
            type: "output_text",
            text: "It opens at 9.",
            annotations: [
              {
                ...{ type: "url_citation", start_index: 0, end_index: 5, title: "Hours" },
                url: "https://zoo.example/hours?utm_source=openai",
              },
              { type: "url_citation", start_index: 6, end_index: 9, url: "javascript:alert(1)", title: "x" },
            ],
          },
        ],
      },
    ],
    usage: { input_tokens: 8000, input_tokens_details: { cached_tokens: 2000 }, output_tokens: 900 },
  },
  "google/gemini-2.5-pro": {
    candidates: [
      {
        content: { role: "model", parts: [{ text: "hm", thought: true }, { text: "It opens at 9." }] },
        groundingMetadata: {
          webSearchQueries: ["zoo", "zoo hours", ""],
          groundingChunks: [
            {
              web: {
                uri: "https://vertexaisearch.cloud.google.com/grounding-api-redirect/A",
                title: "zoo.example",
              },
            },
          ],
          groundingSupports: [
            {
              segment: { startIndex: 0, endIndex: 9, text: "Open from 9 to 5." },
              groundingChunkIndices: [0],
            },
          ],
        },
      },
    ],
    usageMetadata: {
      ...{ promptTokenCount: 100, toolUsePromptTokenCount: 900, candidatesTokenCount: 400 },
      ...{ thoughtsTokenCount: 500, totalTokenCount: 1900 },
    },
  },
} as const;
type Name = keyof typeof answers;

let server: Awaited<ReturnType<typeof serveLoopback>>;
let asked: { path: string; headers: Record<string, unknown>; body: Record<string, unknown> }[];
let answer: { status: number; body: unknown };
beforeEach(async () => {
  asked = [];
  server = await serveLoopback(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    asked.push({ path: request.url ?? "", headers: request.headers, body: JSON.parse(body) });
    response
      .writeHead(answer.status, { "content-type": "application/json" })
      .end(JSON.stringify(answer.body));
  });
});
afterEach(() => server.close());

const modelOf = (name: string) => {
  const [provider = "", id = ""] = name.split("/");
  return { provider, id };
};

/** Searches with a model, and reads what the day says. */
async function search(name: Name, budgets = {}, pricePerSearch?: number) {
  const { provider } = modelOf(name);
  const search = { baseUrl: server.origin, ...(pricePerSearch === undefined ? {} : { pricePerSearch }) };
  const configuration = { ...defaults, apiKeys: { [provider]: "***" }, web: { fetch: true, search } };
  const keys = {
    configuration: { load: async () => configuration },
    secrets: { get: async () => "the-key" },
  };
  const book = newBook(budgets);
  const account = new SessionAccount(book, "agent:main:main", 1);
  const payment = { account, occasion: newPayment().occasion };
  const found = await searchWeb(keys, "zoo hours", { model: modelOf(name), payment });
  await account.settle();
  const { sums, rows } = await readDay(book.table, new Date().toISOString().slice(0, 10));
  return { found, micros: sums.all ?? 0, rows: [...rows] };
}

describe("the search tool of a model's provider", () => {
  it.each<[Name, string, string, object, object]>([
    [
      "anthropic/claude-sonnet-4-6",
      "/v1/messages",
      "x-api-key",
      {
        tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 1 }],
        model: "claude-sonnet-4-6",
      },
      {
        answer: "I'll look. It opens at 9.",
        results: [
          {
            ...{ title: "Hours", url: "https://zoo.example/hours", snippet: "Open from 9 to 5." },
            published: "April 30, 2026",
          },
          { title: "Map", url: "https://zoo.example/map", snippet: "" },
        ],
      },
    ],
    [
      "openai/gpt-5",
      "/responses",
      "authorization",
      { tools: [{ type: "web_search" }], max_tool_calls: 1, store: false, model: "gpt-5" },
      {
        answer: "It opens at 9.",
        results: [{ title: "Hours", url: "https://zoo.example/hours", snippet: "" }],
      },
    ],
    [
      "google/gemini-2.5-pro",
      "/models/gemini-2.5-pro:generateContent",
      "x-goog-api-key",
      { tools: [{ google_search: {} }] },
      {
        answer: "It opens at 9.",
        results: [
          {
            ...{ title: "zoo.example", snippet: "Open from 9 to 5." },
            url: "https://vertexaisearch.cloud.google.com/grounding-api-redirect/A",
          },
        ],
      },
    ],
  ])("of %s is asked once, and its addresses are the results", async (name, path, header, body, found) => {
    answer = { status: 200, body: answers[name] };
    expect((await search(name)).found).toEqual(found);
    expect(asked).toMatchObject([{ path, body }]);
    expect(String(asked[0]?.headers[header])).toContain("the-key");
    expect(JSON.stringify(asked[0]?.body)).toContain("Query: zoo hours");
  });

  it("costs its tokens and its searches, at the prices of the model", async () => {
    const costs: [Name, number, number[]][] = [
      // 6,000 × $3 + 900 × $15 a million, and a cent.
      ["anthropic/claude-sonnet-4-6", 18_000 + 13_500 + 10_000, [6000, 900, 0]],
      // 6,000 × $1.25 + 2,000 × $0.125 + 900 × $10 a million, and a cent for one search; opening a page is free.
      ["openai/gpt-5", 7500 + 250 + 9000 + 10_000, [6000, 900, 2000]],
      // 1,000 × $1.25 + 900 × $10 a million, and 3.5 cents for the request.
      ["google/gemini-2.5-pro", 1250 + 9000 + 35_000, [1000, 900, 0]],
    ];
    for (const [name, micros, [input, output, cacheRead]] of costs) {
      answer = { status: 200, body: answers[name] };
      const spent = await search(name);
      expect([name, spent.micros]).toEqual([name, micros]);
      expect(spent.rows).toMatchObject([
        [`turn|main|||${name}`, [1, input, output, cacheRead, 0, micros, 0, expect.any(Number), 0]],
      ]);
    }
    answer = { status: 200, body: answers["openai/gpt-5"] };
    expect((await search("openai/gpt-5", {}, 0.5)).micros).toBe(16_750 + 500_000);
    const prices = { "openai/gpt-5": { input: 0, output: 0 } };
    expect((await search("openai/gpt-5", { prices })).micros).toBe(10_000);
  });

  it("is not asked above a limit, and costs nothing if it is refused", async () => {
    answer = { status: 200, body: answers["openai/gpt-5"] };
    const rules = [{ id: "day", scope: "all", usd: 0.05, atLimit: "refuse" }];
    expect(await search("openai/gpt-5", { rules })).toMatchObject({
      found: { error: expect.stringContaining("today's limit of $0.0500 is reached") },
      micros: 0,
    });
    expect(asked).toEqual([]);
    answer = { status: 400, body: { error: { message: "this model has no web_search for the-key" } } };
    const { found, micros } = await search("openai/gpt-5");
    expect([found, micros]).toEqual([
      { error: 'openai answered with 400: {"error":{"message":"this model has no web_search for ***"}}' },
      0,
    ]);
    answer = { status: 401, body: {} };
    expect((await search("openai/gpt-5")).found).toEqual({
      error: "openai answered with 401: {}. The key may be wrong (apiKeys.openai)",
    });
  });
});

describe("a search in a run", () => {
  const pricePerSearch = 0.25;
  let state: State;
  let model: ModelServer;
  let bench: Bench;
  beforeEach(async () => {
    answer = { status: 200, body: { results: [{ url: "https://zoo.example/hours", title: "Hours" }] } };
    state = await startState();
    model = await startOpenAiServer(({ turns }) =>
      turns.at(-1)?.role === "tool"
        ? { text: "done" }
        : { toolCalls: [{ name: "gsv__WebSearch", arguments: JSON.stringify({ query: "zoo" }) }] },
    );
    bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
    bench.configuration.budgets.prices = { "openai-compatible/m": { input: 0, output: 0 } };
    const search = { provider: "tavily", apiKey: "***", baseUrl: server.origin, pricePerSearch } as const;
    bench.configuration.web = { fetch: true, search };
    const keys = {
      configuration: { load: async () => bench.configuration },
      secrets: { get: async () => "k" },
    };
    bench.searchWeb = (query, request) => searchWeb(keys, query, request);
  });
  afterEach(async () => {
    await model.close();
    await state.close();
  });

  const submit = (sessionKey: string) =>
    bench.submit(sessionKey, {
      ...{ id: sessionKey, at: bench.agent().now(), origin: { kind: "client" }, kind: "message", text: "hi" },
    });
  const today = () => readDay(state.table, new Date(bench.agent().now()).toISOString().slice(0, 10));

  it("is paid by the run's sender, and its hosts are whose words the run has read", async () => {
    await submit("agent:main:main");
    await bench.invoke("agent:main:main");
    expect((await bench.state("agent:main:main")).origins).toEqual(["web:zoo.example"]);
    const { rows } = await today();
    expect(rows.get("turn|main|||search/tavily")).toEqual([1, 0, 0, 0, 0, 250_000, 0, 0, 0]);
  });

  it("is paid wherever the process dies", async () => {
    let isKilled = true;
    for (let left = 1; isKilled; left++) {
      const sessionKey = `agent:main:s${left}`;
      await submit(sessionKey);
      isKilled = !(await bench.invoke(sessionKey, { left, calls: [] }));
      // The clock passes the lease, but not midnight.
      if (isKilled) await bench.invoke(sessionKey);
      bench.later = 0;
      expect(JSON.stringify((await bench.live(sessionKey)).at(-1)?.content)).toContain("done");
      expect((await today()).sums.all).toBeGreaterThanOrEqual(asked.length * pricePerSearch * 1e6);
    }
    expect(asked.length).toBeGreaterThan(10);
  });
});
