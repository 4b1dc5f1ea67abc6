import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type ChatRequest, readTurn } from "../../../local/offline-model/offline-turn.ts";
import type { AssistantMessage } from "../../../shared/protocol/messages.ts";
import type { ContextResult } from "../../../shared/protocol/session-results.ts";
import { clientParams } from "../../support/peer.ts";
import { openSocketWorld, type SocketFunction } from "../../support/socket-function.ts";
import {
  type ContextBench,
  type ContextStack,
  deactivate,
  idOf,
  pin,
  read,
  startContextStack,
} from "./context-bench.ts";

let stack: ContextStack;
let bench: ContextBench;
let gateway: SocketFunction;

beforeAll(async () => {
  stack = await startContextStack();
  const world = openSocketWorld(stack.bench().store);
  gateway = world.start();
  await gateway.open("c", (await world.token(["client"])).token);
  await gateway.request("c", "connect", clientParams("ann"));
});
beforeEach(() => {
  bench = stack.bench();
});
afterAll(() => stack?.close());

async function context(): Promise<ContextResult> {
  const answer = await gateway.request("c", "session.context", { sessionKey: bench.key });
  return (answer as unknown as { payload: ContextResult }).payload;
}
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

it("M28: session.context is empty in a new session, and lists a call once it has a result", async () => {
  expect(await context()).toMatchObject({
    rendering: "inline",
    entries: [],
    active: [],
    inactive: [],
    pinned: [],
  });
  await bench.turn("read it", [read(idOf("r"), "none.md")]);
  const { entries, active } = await context();
  expect(active).toEqual([idOf("r")]);
  expect(entries).toEqual([
    {
      ...{ id: idOf("r"), type: "toolcall", tool: "gsv__ReadFile", args_display: 'gsv__ReadFile: "none.md"' },
      ...{
        status: "fail",
        characters: expect.any(Number),
        tokens: expect.any(Number),
        active: true,
        pinned: false,
      },
      content_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      metadata_view_hash: sha256(`${idOf("r")}|toolcall|gsv__ReadFile|gsv__ReadFile: "none.md"|fail`),
    },
  ]);
});

it("M40: session.context returns the sets, with the hash that the next reply stores", async () => {
  await bench.agent().workspace.write(bench.key.split(":")[1]!, "plan.md", "the plan");
  await bench.turn("read", [read(idOf("one"), "plan.md")], [read(idOf("two"), "plan.md")]);
  await bench.turn("tidy", [deactivate(idOf("d"), idOf("one")), pin(idOf("p"), "file:gsv:plan.md")]);
  const { active, inactive, pinned, active_hash, entries } = await context();
  expect({ active, inactive, pinned }).toEqual({
    active: [idOf("two"), "file:gsv:plan.md"],
    inactive: [idOf("one")],
    pinned: ["file:gsv:plan.md"],
  });
  expect(entries.at(-1)).toMatchObject({
    ...{ type: "file", path: "plan.md", characters: 8, content_hash: sha256("the plan") },
    metadata_view_hash: sha256("file:gsv:plan.md|file|plan.md|md|8|"),
  });
  await bench.turn("go on");
  const reply = (await bench.live(bench.key)).at(-1) as AssistantMessage;
  expect(reply.context?.active).toBe(active_hash);
});

it("the built-in model answers the message, not the active objects after it", async () => {
  await bench.agent().workspace.write(bench.key.split(":")[1]!, "plan.md", "what time is it?");
  await bench.turn("pin", [pin(idOf("p"), "file:gsv:plan.md")]);
  const [request] = await bench.turn("remember the tea");
  const { messages } = request!.body as ChatRequest;
  expect(JSON.stringify(messages.at(-1))).toContain("what time is it?");
  expect(readTurn(messages).question).toBe("remember the tea");
});
