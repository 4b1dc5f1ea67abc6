import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { failureSentence } from "../../../functions/agent/model/failure-sentence.ts";
import { createMediaCache } from "../../../functions/agent/model/media-cache.ts";
import { createCallModel } from "../../../functions/agent/model/model.ts";
import { withoutProviderWords } from "../../../functions/agent/model/provider-error-text.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { runCommand } from "../../../shared/session/commands/commands.ts";
import { newPayment } from "../../support/payment.ts";
import { type State, startState } from "../../support/state.ts";

let state: State;
let server: Server;
let address: string;
/** What the server answers. */
let answer: { status: number; body: unknown };
beforeAll(async () => {
  state = await startState();
  server = createServer((request, response) => {
    request.resume();
    if (answer.status === 200) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": begun\n\n", () => (answer.body === "cut" ? response.destroy() : response.end()));
      return;
    }
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server?.close();
  await state?.close();
});
let reasons: string[];
beforeEach(() => {
  reasons = [];
});

async function errorOf(model: ModelConfiguration, apiKeys: Record<string, string> = {}): Promise<string> {
  const keys = {
    configuration: { load: async () => ({ ...defaults, apiKeys }) },
    secrets: { get: async () => Object.values(apiKeys)[0] },
  };
  const callModel = createCallModel(keys, createMediaCache(state.bucket), async () => {});
  const outcome = await callModel({
    payment: newPayment(),
    ...{ model, systemPrompt: "", tools: [], sessionId: "s", timeoutMs: 20_000 },
    messages: [{ role: "user", content: "hello", timestamp: 1 }],
    signal: new AbortController().signal,
    onText: () => {},
    onRepeat: ({ reason }) => reasons.push(reason),
  });
  return outcome.status === "failed" ? outcome.error : outcome.status;
}
const refusing = (status: number, message: string, provider = "openai-compatible") => {
  answer = { status, body: { error: { message, type: "t" } } };
  return errorOf({ provider, id: "m", baseUrl: address });
};
/** A port at which nothing listens. */
async function freePort(): Promise<number> {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  await new Promise((resolve) => other.close(resolve));
  return port;
}

describe("the error of a model that cannot be called", () => {
  it.each(["openai-compatible", "anthropic"])(
    "names the address where nothing listens: %s",
    async (provider) => {
      const baseUrl = `http://127.0.0.1:${await freePort()}/v1`;
      const error = await errorOf({ provider, id: "m", baseUrl });
      expect(error).toBe(
        `LLM error: the model cannot be asked: nothing listens at ${baseUrl}; is its server running?`,
      );
      expect(reasons).toEqual([
        `nothing listens at ${baseUrl}; is its server running?`,
        `nothing listens at ${baseUrl}; is its server running?`,
      ]);
    },
  );

  it.each([
    ["openai-compatible", "http://127.0.0.1:9/v1", "bad port"],
    ["anthropic", "http://127.0.0.1:9/v1", "bad port"],
    ["google", "http://127.0.0.1:9/v1", "fetch failed"],
    ["openai-compatible", "http://me:a-key@127.0.0.1:9/v1?key=a-key", "no connection"],
  ])(
    "names the address of %s when the connection fails without a code, and quotes no provider",
    async (provider, baseUrl, reason) => {
      const error = await errorOf({ provider, id: "m", baseUrl }, { [provider]: "a-key" });
      expect(error).toContain("the model cannot be asked: http://127.0.0.1:9/v1 cannot be reached (");
      expect(error).toContain(`${reason}); check the address (model.baseUrl) and the network`);
      expect(error).not.toMatch(/provider says|a-key/);
    },
  );

  it.each(["openai-compatible", "anthropic"])("says that an answer of %s was cut off", async (provider) => {
    for (const ending of ["cut", "ended"] as const) {
      answer = { status: 200, body: ending };
      const error = await errorOf({ provider, id: "m", baseUrl: address }, { [provider]: "a-key" });
      expect(error).toBe(
        "LLM error: the provider's answer was cut off midway; send the message again, or choose another model with /model",
      );
      expect(reasons.at(-1)).toBe("the provider's answer was cut off midway");
    }
  });

  it.each([
    [
      "ECONNREFUSED",
      "http://127.0.0.1:11434/v1",
      "nothing listens at http://127.0.0.1:11434/v1; is Ollama running?",
    ],
    [
      "ECONNREFUSED",
      "http://gpu.lan:11434/v1",
      "nothing listens at http://gpu.lan:11434/v1; is Ollama running?",
    ],
    ["ENOTFOUND", "http://gpu.lan/v1", "the host of http://gpu.lan/v1 was not found; check the address"],
    [
      "CERT_HAS_EXPIRED",
      "https://gpu.lan/v1",
      "the certificate of https://gpu.lan/v1 is not valid (CERT_HAS_EXPIRED)",
    ],
    [
      "ETIMEDOUT",
      "https://gpu.lan/v1",
      "https://gpu.lan/v1 cannot be reached (ETIMEDOUT); check the address",
    ],
  ])("explains %s at %s", (unreachable, baseUrl, text) => {
    const chosen = { provider: "openai-compatible", id: "m", baseUrl };
    expect(failureSentence({ chosen, address: baseUrl, unreachable, words: "" })?.text).toContain(text);
  });

  it("says how to replace a refused key", async () => {
    expect(await refusing(401, "invalid x-api-key", "anthropic")).toMatch(
      /^LLM error: the model cannot be asked: the server at \S+ does not accept the key; set another: gsv config set apiKeys\.anthropic - \(401 .*invalid x-api-key\)$/,
    );
  });

  it("names a model that the server does not have", async () => {
    expect(await refusing(404, 'model "m" not found')).toMatch(
      /has no model m; choose another with \/model \(404/,
    );
    const ollama = {
      chosen: { provider: "openai-compatible", id: "qwen3" },
      address: "http://127.0.0.1:11434/v1",
    };
    expect(failureSentence({ ...ollama, status: 404, words: "model not found" })?.text).toContain(
      "ollama pull qwen3",
    );
  });

  it("names an account without credit, and the call is not repeated", async () => {
    expect(await refusing(429, "You exceeded your current quota: insufficient_quota")).toContain(
      "has no credit left; add some there, or choose another model with /model",
    );
    expect(reasons).toEqual([]);
  });

  it("is short if the same call is repeated", async () => {
    expect(await refusing(429, "Rate limit reached")).toMatch(
      /^LLM error: rate limited by the model's server; the model's provider says: 429:? Rate limit reached$/,
    );
    const limited = "rate limited by the model's server";
    expect(reasons).toEqual([limited, limited]);
    await refusing(529, "Overloaded");
    expect(reasons.at(-1)).toBe("the model's server is overloaded");
  });

  it("is the provider's message for any other fault", async () => {
    expect(await refusing(400, "the request is odd")).toMatch(
      /the model's provider says: 400:? the request is odd$/,
    );
  });

  it("shows the users of a channel no addresses and accounts", async () => {
    const error = await refusing(401, "key sk-123 of acme");
    expect(withoutProviderWords(error)).toBe(
      "LLM error: the model cannot be called; the owner's client shows the reason",
    );
  });

  // Literal texts: a session keeps an error until it is delivered, possibly by another version.
  it.each([
    "LLM error: the model cannot be asked: nothing listens at http://gpu.lan/v1 (Connection error.)",
    "LLM error: the model's provider says: no credit for http://gpu.lan/v1",
  ])("is redacted on a channel when an earlier version has stored it: %s", (stored) => {
    expect(withoutProviderWords(stored)).not.toContain("gpu.lan");
  });
});

describe("/model", () => {
  const choose = async (argument: string, configuration = defaults) => {
    const context = {
      ...{ table: state.table, wake: async () => {}, now: Date.now },
      configuration: { load: async () => configuration },
    };
    return runCommand(context, "agent:main:m", "c", { name: "model", argument }, {});
  };

  it.each([
    ["anthropic/x", "It cannot be used yet: no key for anthropic: gsv config set apiKeys.anthropic -"],
    [
      "openai-compatible/qwen3",
      "no address for openai-compatible: gsv config set model.baseUrl <address of its API>",
    ],
  ])("says at once what is missing for %s", async (model, missing) => {
    expect(await choose(model)).toEqual({ response: expect.stringContaining(missing) });
  });

  it("says nothing of a model with a key, an address, or the function's role", async () => {
    const withKey = { ...defaults, apiKeys: { anthropic: "***" } };
    expect(await choose("anthropic/x", withKey)).toEqual({ response: "Model set to anthropic/x" });
    expect(await choose("amazon-bedrock/x")).toEqual({ response: "Model set to amazon-bedrock/x" });
    const own = { ...defaults, model: { provider: "ollama", id: "a", baseUrl: "http://127.0.0.1:11434/v1" } };
    expect(await choose("ollama/b", own)).toEqual({ response: "Model set to ollama/b" });
  });
});
