import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import { createFindEmbedder, type Embedder } from "../../shared/recall/vectors/embedder.ts";
import { setLogOutput } from "../../shared/runtime/log.ts";
import {
  type BedrockEmbeddingsServer,
  bedrockKey,
  startBedrockEmbeddings,
} from "../support/models/wires/bedrock-embeddings-server.ts";
import { newBook } from "../support/payment.ts";

const titan = "amazon.titan-embed-text-v2:0";
const cohere = "us.cohere.embed-v4:0";

let server: BedrockEmbeddingsServer;
let logged: string[];
let restoreLog: () => void;
beforeEach(async () => {
  server = await startBedrockEmbeddings();
  logged = [];
  restoreLog = setLogOutput((line) => logged.push(line));
});
afterEach(async () => {
  restoreLog();
  await server.close();
});

/** What makes vectors by Bedrock; undefined when nothing does. */
function embedder(settings: object, key: string | undefined = bedrockKey): Promise<Embedder | undefined> {
  const bedrock = { provider: "amazon-bedrock", baseUrl: server.url, ...(key ? { apiKey: "***" } : {}) };
  const embeddings = { ...defaults.memory.embeddings, ...bedrock, ...settings };
  const load = async () =>
    ({
      ...defaults,
      apiKeys: { openai: "***" },
      memory: { ...defaults.memory, embeddings },
    }) as unknown as Configuration;
  const secrets = {
    get: async (path: string) => (path === "memory.embeddings.apiKey" ? key : "openai-key"),
  };
  return createFindEmbedder({ configuration: { load }, secrets, book: newBook(), now: Date.now })("main");
}

describe.each([titan, "amazon.titan-embed-text-v1", cohere, "cohere.embed-multilingual-v3"])(
  "%s",
  (model) => {
    it("gives a vector for each text, in order", async () => {
      const one = await embedder({ model });
      const [car, dog, automobile] = (await one?.embed(["a car", "a dog", "a automobile"], "text")) ?? [];
      expect(car).toEqual(automobile);
      expect(car).not.toEqual(dog);
      expect(car).toHaveLength(256);
      expect(logged).toEqual([]);
    });
  },
);

it("asks Titan for each text by itself, and Cohere for all at once, saying what they are for", async () => {
  await (await embedder({ model: titan, dimensions: 300 }))?.embed(["one", "two"], "text");
  expect(server.asked.map(({ body }) => body)).toEqual(
    expect.arrayContaining([
      { inputText: "one", dimensions: 512 },
      { inputText: "two", dimensions: 512 },
    ]),
  );
  const { length } = server.asked;
  const cohereNow = await embedder({ model: cohere, dimensions: 2000 });
  await cohereNow?.embed(["one", "two"], "text");
  await cohereNow?.embed(["three?"], "question");
  const common = { embedding_types: ["float"], output_dimension: 1536 };
  expect(server.asked.slice(length).map(({ body }) => body)).toEqual([
    { texts: ["one", "two"], input_type: "search_document", ...common },
    { texts: ["three?"], input_type: "search_query", ...common },
  ]);
});

it("says in the log why there are no vectors, without the key", async () => {
  const wrong = await embedder({ model: titan }, "wrong-key");
  expect(await wrong?.embed(["x"], "text")).toBeUndefined();
  expect(logged.join()).toContain("403 Authentication failed");
  server.fail("invoke", { status: 400, body: { message: `model of ${bedrockKey} is not there` } });
  expect(await (await embedder({ model: titan }))?.embed(["x", "y"], "text")).toBeUndefined();
  expect(logged.join()).toContain("400 model of *** is not there");
  expect(logged.join()).not.toContain(bedrockKey);
  server.fail("invoke", { drop: true });
  expect(await (await embedder({ model: cohere }))?.embed(["x"], "question")).toBeUndefined();
  expect(logged).toHaveLength(3);
});

it("is off without an address or a key of its own, and never gets OpenAI's key", async () => {
  expect(await embedder({ model: titan, baseUrl: undefined })).toBeUndefined();
  expect(await embedder({ model: titan }, "")).toBeUndefined();
  expect(await embedder({})).toBeUndefined();
  expect(server.calls).toEqual([]);
});
