import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { loadRecall } from "../../shared/recall/load-recall.ts";
import type { Recall } from "../../shared/recall/recall.ts";
import { segmentsPrefix } from "../../shared/recall/segment-files.ts";
import { vectorsPrefix } from "../../shared/recall/vectors/vector-files.ts";
import type { RecallScope } from "../../shared/recall/visible-turns.ts";
import { setLogOutput } from "../../shared/runtime/log.ts";
import { archivePart } from "../../shared/session/archive.ts";
import type { Book } from "../../shared/spend/book.ts";
import { readDay } from "../../shared/spend/day-view.ts";
import { createMemoryBucket, type MemoryBucket } from "../support/memory-bucket.ts";
import { type EmbeddingsServer, startEmbeddingsServer } from "../support/models/embeddings-server.ts";
import { newBook } from "../support/payment.ts";
import type { PlatformReply } from "../support/platforms/platform-server.ts";
import { type State, startState } from "../support/state.ts";

const sessionKey = "agent:main:main";
const scope: RecallScope = { agentId: "main", all: true, timezone: "UTC" };
const minute = 60_000;

let state: State;
let bucket: MemoryBucket;
let server: EmbeddingsServer;
/** What the server answers in place of vectors. */
let instead: (texts: string[]) => PlatformReply | undefined | Promise<PlatformReply | undefined>;
/** How long an answer is waited for, in milliseconds. */
let limits: { question: number; text: number };
let now: number;
let book: Book;
let logged: string[];
let restoreLog: () => void;

beforeEach(async () => {
  state = await startState();
  bucket = createMemoryBucket();
  instead = () => undefined;
  server = await startEmbeddingsServer((texts) => instead(texts));
  limits = { question: 60_000, text: 60_000 };
  now = Date.UTC(2026, 0, 5);
  book = newBook({}, state.table);
  logged = [];
  restoreLog = setLogOutput((line) => logged.push(line));
});
afterEach(async () => {
  restoreLog();
  await server.close();
  await state.close();
});

interface Settings {
  embeddings?: object;
  apiKeys?: object;
  secrets?: Record<string, string>;
}

const own = () => ({ model: "nomic-embed-text", baseUrl: `${server.url}/v1/` });

/** Search in a function that has just started. */
function open({ embeddings = own(), apiKeys = {}, secrets = {} }: Settings = {}): Promise<Recall> {
  const memory = { ...defaults.memory, embeddings: { ...defaults.memory.embeddings, ...embeddings } };
  const configuration = { ...defaults, apiKeys, memory } as Configuration;
  return loadRecall({
    ...{ table: state.table, bucket, book, now: () => now, limits },
    configuration: { load: async () => configuration },
    secrets: { get: async (path) => secrets[path] },
  })();
}

const off = () => ({ embeddings: { ...own(), model: undefined } });

const user = (content: string, timestamp = 1000): Message => ({ role: "user", content, timestamp });
const archive = (sessionId: string, ...texts: string[]) =>
  archivePart(bucket, { sessionKey, sessionId }, 1, {
    count: texts.length,
    stream: texts.map((text) => user(text)),
  });
const found = async (recall: Recall, question: string, of = scope) =>
  (await recall.search(of, { question, limit: 10, preview: 200 })).found.map(({ turn }) => turn.text);
const vectorKeys = () => bucket.keys().filter((key) => key.startsWith(vectorsPrefix("main")));
const questions = () => server.texts.filter(([first, ...more]) => more.length === 0 && first?.endsWith("?"));

describe("search with vectors", () => {
  it("finds an answer that shares no word with its question", async () => {
    await archive("s", "My automobile is in the garage", "It rains", "The cake is good", "I hate aubergine");
    expect((await found(await open(), "Which vegetable do I dislike?"))[0]).toBe("I hate aubergine");
    expect(await found(await open(off()), "Which vegetable do I dislike?")).toEqual([]);
  });

  it("ranks first what fits by its words and by its meaning", async () => {
    const between = ["It rains", "The cake is good", "Goodbye"];
    await archive(
      "s",
      "The car park was full",
      ...between,
      "The physician said rest",
      ...between,
      "My car needs oil",
    );
    const texts = await found(await open(), "oil for the automobile, my car");
    expect(texts[0]).toBe("My car needs oil");
  });

  it.each([
    ["by their words", "car", "my car", false],
    ["by a part of a word", "ca", "my car", false],
    // The older fits better by its words, and the newer by its meaning.
    ["by words and meaning", "car", "car car car cake", true],
  ])("ranks the newer of two answers first that fit equally well %s", async (_, question, older, isNear) => {
    for (const [sessionId, text, timestamp] of [
      ["a", older, 1000],
      ["b", isNear ? "car" : "my car", 2000],
    ] as const)
      await archivePart(bucket, { sessionKey, sessionId }, timestamp, {
        count: 1,
        stream: [user(text, timestamp)],
      });
    const recall = await open(isNear ? {} : off());
    const { found } = await recall.search(scope, { question, limit: 10, preview: 200 });
    expect(found.map(({ turn }) => turn.ts)).toEqual([2000, 1000]);
    if (isNear) expect(new Set(found.map(({ score }) => score)).size).toBe(1);
  });

  it("reads vectors that a reset has made, and asks the server for the question alone", async () => {
    const recall = await open();
    await recall.keep(await archive("s", "My automobile is blue", "It rains"));
    expect(vectorKeys()).toEqual(["agents/main/recall/v/s-part1.bin"]);
    expect(bucket.peek("agents/main/recall/v/s-part1.bin")?.length).toBeLessThan(2 * 256 + 200);
    server.texts.length = 0;
    const cold = await open();
    expect(await found(cold, "Which colour has my car?")).toContain("My automobile is blue");
    expect(server.texts).toEqual([["Which colour has my car?"]]);
    bucket.resetCounters();
    await found(cold, "And the car?");
    expect(bucket.downloads).toEqual([]);
  });

  it("sends no result of a tool, and of a long message its beginning", async () => {
    const result: Message = {
      ...{ role: "toolResult", toolCallId: "c", toolName: "Read", isError: false, timestamp: 1 },
      content: [{ type: "text", text: "a secret file" }],
    };
    const stream = [result, user("word ".repeat(1000))];
    const key = await archivePart(bucket, { sessionKey, sessionId: "s" }, 1, { count: 2, stream });
    await (await open()).keep(key);
    expect(server.texts.flat().map((text) => text.length)).toEqual([2000]);
  });

  it("makes vectors of archives that have none as searches go on, 512 at a time, and none twice", async () => {
    for (let s = 0; s < 3; s++) {
      const texts = Array.from({ length: 300 }, (_, i) => `car number ${s} ${i} is here`);
      await archive(`s${s}`, ...texts);
    }
    const recall = await open();
    const made: number[] = [];
    // On a slow machine time is up before all 512 are made.
    while (made.at(-1) !== 0) {
      const before = server.texts.flat().length;
      await found(recall, "any vehicles?");
      made.push(server.texts.flat().length - before - 1);
    }
    expect(Math.max(...made)).toBeLessThanOrEqual(512);
    expect(made.reduce((sum, count) => sum + count)).toBe(900);
    expect(new Set(server.texts.flat()).size).toBe(901);
  });

  it("makes vectors again after a change of the model, and compares none of another", async () => {
    await (await open()).keep(await archive("s", "My automobile is blue", "I hate aubergine"));
    const second = await open({ embeddings: { ...own(), model: "second" } });
    instead = ([text]) => (text?.endsWith("?") ? undefined : { status: 400 });
    expect(await found(second, "vehicles and the car?")).toEqual([]);
    instead = () => undefined;
    expect(await found(second, "vehicles and the car?")).toEqual(["My automobile is blue"]);
    expect(vectorKeys()).toHaveLength(1);
    expect(new Set(server.calls.slice(1).map(({ body }) => body?.model))).toEqual(new Set(["second"]));
    expect(bucket.peek(vectorKeys()[0] ?? "")).toContain("second");
  });

  it("makes vectors again where the stored ones are damaged", async () => {
    await (await open()).keep(await archive("s", "My automobile is blue"));
    const [key = ""] = vectorKeys();
    for (const damaged of ["", "{}\n", `${bucket.peek(key)?.split("\n")[0]}\n`]) {
      await bucket.put(key, damaged);
      expect(await found(await open(), "Where is the car?")).toEqual(["My automobile is blue"]);
    }
  });

  it("looks no further than the scope", async () => {
    const room = "agent:main:telegram:group:-1";
    await (await open()).keep(await archive("s", "My automobile is blue"));
    await archive("t", "My automobile is red");
    const texts = await found(await open(), "Where is the car?", { ...scope, sessionKey: room, all: false });
    expect(texts).toEqual([]);
    expect(server.texts.flat()).not.toContain("My automobile is red");
  });

  it("forgets the vectors of an archive that is dropped", async () => {
    const recall = await open();
    const key = await archive("s", "My automobile is blue");
    await recall.keep(key);
    await recall.drop(key);
    expect([
      ...vectorKeys(),
      ...bucket.keys().filter((one) => one.startsWith(segmentsPrefix("main"))),
    ]).toEqual([]);
  });
});

describe("a server that makes vectors", () => {
  it("is not asked, and nothing is read or written for it, unless a model is set", async () => {
    const recall = await open(off());
    await recall.keep(await archive("s", "My automobile is blue"));
    const openAi = { openai: "***" };
    const keyed = await open({ ...off(), apiKeys: openAi, secrets: { "apiKeys.openai": "sk-openai" } });
    for (const one of [recall, keyed]) expect(await found(one, "blue?")).toEqual(["My automobile is blue"]);
    expect(server.calls).toEqual([]);
    expect(bucket.requests.filter(({ key }) => key.includes("recall/v"))).toEqual([]);
  });

  it("gets its own key and never OpenAI's, and the prefixes that its model expects", async () => {
    await archive("s", "My automobile is blue");
    const prefixes = { questionPrefix: "search_query: ", textPrefix: "search_document: " };
    const shared = { apiKeys: { openai: "***" }, secrets: { "apiKeys.openai": "sk-openai" } };
    await found(await open({ ...shared, embeddings: { ...own(), ...prefixes } }), "Where is the car?");
    for (const { headers } of server.calls) expect(headers).not.toHaveProperty("authorization");
    expect(server.texts).toEqual([
      ["search_query: Where is the car?"],
      ["search_document: My automobile is blue"],
    ]);
    server.calls.length = 0;
    const secrets = { ...shared.secrets, "memory.embeddings.apiKey": "own-key" };
    await found(await open({ ...shared, secrets, embeddings: { ...own(), apiKey: "***" } }), "The car?");
    expect(server.calls[0]?.headers.authorization).toBe("Bearer own-key");
  });

  it.each<[string, () => PlatformReply | Promise<PlatformReply>, RegExp, boolean]>([
    ["is down", () => ({ status: 503, body: { error: { message: "busy" } } }), /503 busy/, true],
    ["does not answer", () => new Promise(() => {}), /no answer within/, true],
    ["answers with a page", () => ({ status: 200, body: "<html>" }), /not have a vector for each/, false],
    [
      "gives too few vectors",
      () => ({ status: 200, body: { data: [] } }),
      /not have a vector for each/,
      false,
    ],
    [
      "gives no numbers",
      () => ({ status: 200, body: { data: [{ embedding: [null] }] } }),
      /not have a vector for each/,
      false,
    ],
    [
      "gives only zeros",
      () => ({ status: 200, body: { data: [{ embedding: [0, 0] }] } }),
      /not have a vector for each/,
      false,
    ],
    [
      "refuses",
      () => ({ status: 400, body: { error: { message: "no such model" } } }),
      /400 no such model/,
      false,
    ],
  ])("that %s costs the search its vectors alone", async (_, answer, reason, rests) => {
    const recall = await open();
    instead = answer;
    if (reason.source.includes("no answer")) limits.text = 20;
    await recall.keep(await archive("s", "My automobile is blue"));
    expect(vectorKeys()).toEqual([]);
    const before = server.calls.length;
    expect(await found(recall, "what is blue?")).toEqual(["My automobile is blue"]);
    // One that is down or slow is left alone for a minute.
    expect(server.calls.length - before).toBe(rests ? 0 : 1);
    expect(logged.join("\n")).toMatch(/"recall.embeddings-failed"/);
    expect(logged.join("\n")).toMatch(reason);
    expect(logged.join("\n")).not.toContain("automobile");
    instead = () => undefined;
    limits.text = 60_000;
    now += minute;
    expect(await found(recall, "Where is the car?")).toEqual(["My automobile is blue"]);
  });

  it("that always refuses one text keeps no other from its vector for long", async () => {
    instead = (texts) => (texts.some((text) => text.includes("poison")) ? { status: 400 } : undefined);
    await archive("z", "My automobile is blue");
    await found(await open(off()), "any?");
    for (const name of ["p1", "p2", "p3"]) await archive(name, `poison ${name}`);
    const recall = await open();
    for (let round = 0; round < 2; round++) await found(recall, "Where is the car?");
    expect(await found(recall, "Where is the car?")).toEqual(["My automobile is blue"]);
    expect(questions()).toHaveLength(3);
  });
});

describe("what vectors cost", () => {
  const today = () => readDay(state.table, new Date().toISOString().slice(0, 10));

  it("is charged to the agent as maintenance, one row for questions and texts", async () => {
    await archive("s", "My automobile is in the garage", "I hate aubergine");
    await found(await open(), "Which vegetable do I dislike?");
    const { sums, rows } = await today();
    expect(sums).toEqual({ all: expect.any(Number), "kind:maintenance": sums.all });
    expect(sums.all).toBeGreaterThan(0);
    expect([...rows]).toEqual([
      [
        "maintenance|main|||openai-compatible/nomic-embed-text",
        [2, expect.any(Number), 0, 0, 0, sums.all, 2, 0, 0],
      ],
    ]);
  });

  it("never passes a limit: a search then finds messages by their words, and sends nothing", async () => {
    const rules = [{ id: "day", scope: "all", usd: 0, atLimit: "refuse" }] as const;
    book = newBook({ rules: [...rules] }, state.table);
    await archive("s", "My automobile is in the garage", "I hate aubergine");
    const recall = await open();
    expect((await found(recall, "aubergine"))[0]).toBe("I hate aubergine");
    expect(await found(recall, "Which vegetable do I dislike?")).toEqual([]);
    expect(server.texts).toEqual([]);
    expect(logged.join("\n")).toContain("budget");
  });
});
