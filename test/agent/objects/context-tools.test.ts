import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Rendering } from "../../../shared/context/view.ts";
import { textOf } from "../../../shared/protocol/messages.ts";
import type { ModelRequest } from "../../support/models/scripted-model.ts";
import {
  activate,
  type ContextBench,
  type ContextStack,
  call,
  deactivate,
  idOf,
  pin,
  read,
  startContextStack,
} from "./context-bench.ts";

let stack: ContextStack;
let bench: ContextBench;

beforeAll(async () => {
  stack = await startContextStack();
});
afterAll(() => stack?.close());

const long = `the text of the file ${"x".repeat(600)}`;
const file = idOf("file");

async function begin(rendering: Rendering): Promise<void> {
  bench = stack.bench(rendering);
  await bench.agent().workspace.write(bench.key.split(":")[1]!, "notes/a.md", long);
}

const contextOf = ({ turns }: ModelRequest) => turns.map(({ text }) => text).join("\n");
const resultOf = ({ turns }: ModelRequest, id: string) =>
  turns.find(({ toolCallId }) => toolCallId === id)?.text;
/** How often a request contains the file's text. */
const shownIn = (request: ModelRequest) => contextOf(request).split("the text of the file").length - 1;
const lastResult = async (): Promise<unknown> => {
  const live = await bench.live(bench.key);
  return JSON.parse(textOf(live.findLast(({ role }) => role === "toolResult")!));
};

describe.each(["inline", "pools"] as const)("in the rendering %s", (rendering) => {
  beforeEach(() => begin(rendering));

  it("M31, M34, M46: the model deactivates a result and activates it again by the provider's id", async () => {
    const first = await bench.turn("read it", [read(file, "notes/a.md")]);
    expect(first).toHaveLength(2);
    expect(shownIn(first[1]!)).toBe(1);

    const out = await bench.turn("let it go", [deactivate(idOf("out"), file)]);
    expect(out.map(shownIn)).toEqual([1, 0]);
    expect(resultOf(out[1]!, file)).toMatch(
      /^\[toolcall_ref id=toolu_01_00000000file tool=gsv__ReadFile status=ok, \d+ characters; gsv__activate shows it\]$/,
    );
    expect(resultOf(out[1]!, idOf("out"))).not.toContain("the text");

    const back = await bench.turn("show it", [activate(idOf("back"), file)]);
    expect(back.map(shownIn)).toEqual([0, 1]);
    expect(resultOf(back[1]!, idOf("back"))).toContain('"state":"active"');
    expect(resultOf(back[1]!, idOf("back"))).not.toContain("the text");
  });

  it("M26: a result contains its content only if the rendering says so", async () => {
    const [, request] = await bench.turn("read it", [read(file, "notes/a.md")]);
    const inPlace = resultOf(request!, file)!.includes("the text of the file");
    expect(inPlace).toBe(rendering === "inline");
    expect(shownIn(request!)).toBe(1);
  });

  it("M35: a pinned result stays over turns and a cold start; a pinned file keeps its content", async () => {
    await bench.turn("read it", [read(file, "notes/a.md")]);
    await bench.turn("pin", [pin(idOf("pin"), "file:gsv:notes/a.md"), pin(idOf("pin2"), file)]);
    await bench.agent().workspace.write(bench.key.split(":")[1]!, "notes/a.md", "something else");
    for (let i = 0; i < 10; i++) await bench.turn(`turn ${i}`);
    const [request] = await bench.turn("still there?");
    expect(contextOf(request!)).toContain(
      '<object id="file:gsv:notes/a.md" source="notes/a.md, as it was pinned">\nthe text of the file',
    );
    expect(shownIn(request!)).toBe(2);
    const [, unpinned] = await bench.turn("unpin", [pin(idOf("unpin"), "file:gsv:notes/a.md", false)]);
    expect(contextOf(unpinned!)).not.toContain("as it was pinned");
  });

  it("M43: an active file is shown once, with its current content", async () => {
    await bench.turn("show", [activate(idOf("a1"), "file:gsv:notes/a.md")]);
    await bench.turn("again", [activate(idOf("a2"), "file:gsv:notes/a.md")]);
    await bench.agent().workspace.write(bench.key.split(":")[1]!, "notes/a.md", "something new");
    const [request] = await bench.turn("and now?");
    expect(contextOf(request!).split("something new")).toHaveLength(2);
    expect(shownIn(request!)).toBe(0);
  });

  it("M47: deactivated objects reduce the tokens that the provider counts", async () => {
    const path = "notes/long.md";
    await bench.agent().workspace.write(bench.key.split(":")[1]!, path, "y".repeat(20_000));
    await bench.turn("read it", [read(file, path)]);
    const before = (await bench.state(bench.key)).contextTokens!;
    await bench.turn("let it go", [deactivate(idOf("out"), file)]);
    const after = (await bench.state(bench.key)).contextTokens!;
    expect(before - after).toBeGreaterThan(4500);
  });
});

describe("the context tools", () => {
  beforeEach(() => begin("inline"));

  it("M33: an unknown id is refused, and changes nothing", async () => {
    await bench.turn("show", [activate(idOf("a"), "toolu_nobody_knows_this")]);
    expect(await lastResult()).toEqual({ ok: false, error: "Object not found: toolu_nobody_knows_this" });
    await bench.turn("show", [activate(idOf("b"), "file:gsv:notes/none.md")]);
    expect(await lastResult()).toEqual({ ok: false, error: "Object not found: file:gsv:notes/none.md" });
  });

  it.each(["chat", "system_prompt", "session"])("M13, M34: the %s is locked", async (type) => {
    await bench.turn("hello");
    const { sessionId } = await bench.state(bench.key);
    const agentId = bench.key.split(":")[1];
    const ids = {
      chat: `chat:${sessionId}`,
      system_prompt: `system_prompt:${agentId}:${sessionId}`,
      session: `session:${bench.key}`,
    };
    const id = ids[type as keyof typeof ids];
    for (const tool of [deactivate, activate, pin]) {
      await bench.turn("do", [tool(idOf("x"), id)]);
      expect(await lastResult()).toEqual({
        ok: false,
        error: `Object is locked: the model always sees ${id}`,
      });
    }
  });

  it("M32: an object without text says so: an image, a file that is not text, a deleted file", async () => {
    const { agent, key, store } = bench;
    const agentId = key.split(":")[1]!;
    await store.bucket.put(`agents/${agentId}/photo.bin`, new Uint8Array([0, 255, 254, 0]), {});
    await bench.turn("read", [read(idOf("r"), "photo.bin")]);
    await bench.turn("show", [activate(idOf("a"), "file:gsv:photo.bin")]);
    expect(await lastResult()).toMatchObject({
      ok: true,
      result: { note: expect.stringContaining("Content unavailable (non-text file)") },
    });
    await bench.turn(
      "delete",
      [read(idOf("r2"), "notes/a.md")],
      [call(idOf("d"), "gsv__DeleteFile", { path: "notes/a.md" })],
    );
    await bench.turn("show", [activate(idOf("a2"), "file:gsv:notes/a.md")]);
    expect(await lastResult()).toMatchObject({
      ok: true,
      result: { note: expect.stringContaining("Content unavailable (non-text file)") },
    });
    await agent().workspace.write(agentId, "notes/a.md", "back");
    const image = { type: "image", mimeType: "image/png", r2Key: "media/none" } as const;
    const live = await bench.live(key);
    bench.key = `${key}2`;
    await bench.seed(bench.key, [
      ...live,
      { role: "user", content: "look", timestamp: 1 },
      {
        role: "assistant",
        content: [{ type: "toolCall", id: idOf("i"), name: "n__Read", arguments: { path: "/x.png" } }],
        timestamp: 1,
      },
      {
        role: "toolResult",
        toolCallId: idOf("i"),
        toolName: "n__Read",
        content: [image],
        isError: false,
        timestamp: 1,
      },
    ]);
    await bench.turn("show", [activate(idOf("a3"), idOf("i"))]);
    expect(await lastResult()).toMatchObject({
      ok: true,
      result: { note: "Content unavailable (non-text file)" },
    });
  });

  it("refuse an object above a quarter of the window, with its size, and cut nothing", async () => {
    bench = stack.bench("inline", 20_000);
    await bench.agent().workspace.write(bench.key.split(":")[1]!, "big.md", "z".repeat(40_000));
    await bench.turn("show", [activate(idOf("a"), "file:gsv:big.md")]);
    expect(await lastResult()).toMatchObject({
      ok: false,
      error: expect.stringMatching(
        /^No room for file:gsv:big\.md: it has 40000 characters; the limit is \d+$/,
      ),
    });
    const [request] = await bench.turn("well?");
    expect(contextOf(request!)).not.toContain("zzzz");
  });

  it("C18: can be called by their bare names", async () => {
    await bench.turn("read it", [read(file, "notes/a.md")]);
    const out = await bench.turn("let it go", [call(idOf("out"), "deactivate", { id: file })]);
    expect(out.map(shownIn)).toEqual([1, 0]);
  });

  it("are not offered if the configuration says so, and never to guests", async () => {
    const [offered] = await bench.turn("hello");
    expect(offered!.tools).toEqual(expect.arrayContaining(["gsv__activate", "gsv__deactivate", "gsv__pin"]));
    expect(offered!.system).toContain("## Context");
    bench.configuration.context.tools = false;
    const [without] = await bench.turn("hello");
    expect(without!.tools.filter((name) => /activate|pin/.test(name))).toEqual([]);
    expect(without!.system).not.toContain("## Context");
    bench.configuration.context.tools = true;
    const before = bench.model.requests.length;
    const origin = { kind: "client" } as const;
    await bench.submit(bench.key, {
      id: "g",
      at: Date.now(),
      origin,
      role: "guest",
      kind: "message",
      text: "hi",
    });
    await bench.run();
    expect(bench.model.requests[before]!.tools.filter((name) => /activate|pin/.test(name))).toEqual([]);
  });

  it("C18: find no object of another session, and no file that this one may not read", async () => {
    await bench.turn("read it", [read(file, "notes/a.md")]);
    const agentId = bench.key.split(":")[1]!;
    await bench.agent().workspace.write(agentId, "MEMORY.md", "a private line");
    bench.key = `agent:${agentId}:telegram:group:g1`;
    await bench.turn("show", [activate(idOf("a"), file)]);
    expect(await lastResult()).toMatchObject({ ok: false });
    await bench.turn("show", [activate(idOf("b"), "file:gsv:MEMORY.md")]);
    expect(await lastResult()).toMatchObject({ ok: false });
    for (const { body } of bench.model.requests.slice(-4))
      expect(JSON.stringify(body)).not.toContain("a private line");
  });

  it("an object that the owner activated is hidden from a guest who may not read it", async () => {
    const agentId = bench.key.split(":")[1]!;
    await bench.agent().workspace.write(agentId, "MEMORY.md", "a private line");
    await bench.turn("show", [activate(idOf("a"), "file:gsv:MEMORY.md")]);
    const before = bench.model.requests.length;
    const origin = { kind: "client" } as const;
    await bench.submit(bench.key, {
      id: "g",
      at: Date.now(),
      origin,
      role: "guest",
      kind: "message",
      text: "hi",
    });
    await bench.run();
    expect(bench.model.requests[before]!.turns.map(({ text }) => text).join()).not.toContain(
      "a private line",
    );
  });
});
