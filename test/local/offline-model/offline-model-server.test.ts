import { afterAll, beforeAll, expect, it } from "vitest";
import { type OfflineModel, startOfflineModel } from "../../../local/offline-model/offline-model-server.ts";

let offline: OfflineModel;
beforeAll(async () => {
  offline = await startOfflineModel();
});
afterAll(() => offline.close());

const post = async (body: unknown, path = "/chat/completions") => {
  const response = await fetch(offline.url + path, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
};
const user = { role: "user", content: "which files are in this folder?" };
const tools = [{ type: "function", function: { name: "laptop__Glob", parameters: {} } }];
const good = { model: "offline", messages: [user], tools };

/** The chunks of a streamed answer, without their time. */
const chunksIn = (text: string) =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = ""]) => ({ ...JSON.parse(json), created: 0 }));

it("gives the same answer to the same request", async () => {
  const [one, two] = [chunksIn((await post(good)).text), chunksIn((await post(good)).text)];
  expect(one).toEqual(two);
  const deltas = one.flatMap(({ choices }) => choices.map(({ delta }: { delta: object }) => delta));
  expect(deltas).toContainEqual({
    tool_calls: [
      expect.objectContaining({ function: { name: "laptop__Glob", arguments: '{"pattern":"*"}' } }),
    ],
  });
  expect(one.at(-2).choices[0].finish_reason).toBe("tool_calls");
});

it("reports what the answer takes: tokens, and no money", async () => {
  const { usage } = chunksIn((await post(good)).text).at(-1);
  expect(usage.prompt_tokens).toBe(Math.ceil(JSON.stringify(good).length / 4));
  expect(usage).toMatchObject({ total_tokens: usage.prompt_tokens + usage.completion_tokens, cost: 0 });
});

it("streams an answer in several pieces", async () => {
  const { text } = await post({
    model: "offline",
    messages: [{ role: "user", content: "help" }],
    stream: true,
  });
  expect(text.match(/"content":"[^"]/g)?.length).toBeGreaterThan(3);
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
});

it.each([
  ["nothing", "", 400],
  ["half of JSON", '{"model":', 400],
  ["a list", "[]", 400],
  ["null", "null", 400],
  ["no messages", { model: "offline" }, 400],
  ["messages of a wrong type", { model: "offline", messages: "hi" }, 400],
  ["a message of a wrong type", { model: "offline", messages: [null] }, 400],
  ["an unknown role", { model: "offline", messages: [{ role: "bot", content: "x" }] }, 400],
  ["tools of a wrong type", { ...good, tools: { a: 1 } }, 400],
])("refuses %s in OpenAI's words", async (_name, body, status) => {
  const answer = await post(body);
  expect(answer.status).toBe(status);
  const textOrNull = expect.toBeOneOf([null, expect.any(String)]);
  expect(JSON.parse(answer.text)).toEqual({
    error: {
      message: expect.any(String),
      type: "invalid_request_error",
      param: textOrNull,
      code: textOrNull,
    },
  });
  expect((await post(good)).status).toBe(200);
});

it("takes strange but well-formed conversations", async () => {
  const call = (args: string) => ({
    role: "assistant",
    tool_calls: [{ id: "a", type: "function", function: { name: "odd", arguments: args } }],
  });
  const result = (content: string) => ({ role: "tool", tool_call_id: "a", content });
  const odd = [
    [{ role: "system", content: "only this" }],
    [{ role: "assistant", content: "hi" }],
    [user, call("not json"), result("{")],
    [user, call("[]"), result("null")],
    [user, call("{}"), result('{"ok":true}')],
    [user, call("{}"), result('{"matches":[null,5],"count":"x"}')],
    [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:" } }] }],
  ];
  for (const messages of odd) expect((await post({ model: "offline", messages })).status).toBe(200);
  for (const name of ["__", "gsv__", "a__b__Glob", "__proto__", "constructor__Glob"])
    expect((await post({ ...good, tools: [{ type: "function", function: { name } }] })).status).toBe(200);
});

it("answers 404 elsewhere and 413 to more than 32 MB", async () => {
  expect((await post({}, "/embeddings")).status).toBe(404);
  expect((await post({ ...good, pad: "x".repeat(32 * 1024 * 1024) })).status).toBe(413);
});

it("says that a port is taken", async () => {
  await expect(startOfflineModel({ port: Number(new URL(offline.url).port) })).rejects.toThrow(
    /already in use/,
  );
});
