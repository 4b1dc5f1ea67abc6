import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { called, said } from "../../context/conversations.ts";
import type { ModelRequest } from "../../support/models/scripted-model.ts";
import { immortal, type Life } from "../bench.ts";
import { compact } from "../compaction/compaction-bench.ts";
import {
  activate,
  type ContextBench,
  type ContextStack,
  deactivate,
  idOf,
  startContextStack,
} from "./context-bench.ts";

let stack: ContextStack;
let bench: ContextBench;

beforeAll(async () => {
  stack = await startContextStack();
});
beforeEach(async () => {
  bench = stack.bench();
  await begin();
});
afterAll(() => stack?.close());

const [one, two] = [idOf("one"), idOf("two")];
const conversation = () => [
  said("q1"),
  ...called(one, "the first output"),
  { role: "assistant" as const, content: [{ type: "text" as const, text: "a1" }], timestamp: 2 },
  said("q2"),
  ...called(two, "the second output"),
  { role: "assistant" as const, content: [{ type: "text" as const, text: "a2" }], timestamp: 2 },
];
const begin = () => bench.seed(bench.key, conversation());

type Ask =
  | { kind: "activate" | "deactivate"; object: string }
  | { kind: "pin"; object: string; pinned: boolean };
let asked = 0;
const request = (ask: Ask): InboxEntry => {
  const id = `ask${++asked}`;
  return {
    id,
    at: Date.now(),
    origin: { kind: "client", connectionId: "c", requestId: id },
    ...ask,
    via: "method",
  };
};
/** Sends a request, and returns the frames that the client received. */
async function ask(what: Ask, life: Life = immortal()): Promise<object[]> {
  bench.posted.length = 0;
  await bench.submit(bench.key, request(what));
  await bench.run(life);
  return bench.posted.map(({ frame }) => frame as object);
}
const contextOf = ({ turns }: ModelRequest) => turns.map(({ text }) => text).join("\n");
const next = async () => contextOf((await bench.turn("and now?"))[0]!);

describe("a client's change of what the model sees", () => {
  it("M34: is answered, and applies from the next model call on", async () => {
    expect(await ask({ kind: "deactivate", object: one })).toEqual([
      expect.objectContaining({
        ok: true,
        payload: { ok: true, id: one, state: "inactive", note: "The next model call does not contain it" },
      }),
    ]);
    expect(await next()).not.toContain("the first output");
    expect(await ask({ kind: "activate", object: one })).toMatchObject([
      { payload: { ok: true, state: "active" } },
    ]);
    expect(await next()).toContain("the first output");
  });

  it("M13, M33: is refused for an unknown or locked object", async () => {
    const { sessionId } = await bench.state(bench.key);
    expect(await ask({ kind: "activate", object: "nobody" })).toMatchObject([
      { ok: false, error: { code: 404, message: "Object not found: nobody" } },
    ]);
    expect(await ask({ kind: "deactivate", object: `chat:${sessionId}` })).toMatchObject([
      { ok: false, error: { code: 409, message: expect.stringMatching(/^Object is locked: .+ chat:/) } },
    ]);
    expect(await bench.state(bench.key)).toMatchObject({ inbox: [], inboxBytes: 0 });
  });

  it("M40: applies after the message that preceded it, and before later changes of the model", async () => {
    await ask({ kind: "deactivate", object: one });
    const [, request] = await bench.turn("show it", [activate(idOf("a"), one)]);
    expect(contextOf(request!)).toContain("the first output");
    await ask({ kind: "deactivate", object: one });
    expect(await next()).not.toContain("the first output");
  });

  it("M41: is kept by a compaction, whether or not the compaction keeps the message", async () => {
    bench.configuration.context.rendering = "pools";
    await bench.turn("let it go", [deactivate(idOf("d"), two)]);
    await ask({ kind: "pin", object: one, pinned: true });
    await ask({ kind: "deactivate", object: idOf("none") });
    await bench.submit(bench.key, compact("c1", 2));
    await bench.run();
    expect(await next()).toContain("the first output");
    await ask({ kind: "pin", object: two, pinned: true });
    await bench.turn("more");
    await bench.submit(bench.key, compact("c2", 1));
    await bench.run();
    expect(await bench.state(bench.key)).not.toHaveProperty("context");
    const shown = await next();
    expect(shown).toContain("the first output");
    expect(shown).toContain("the second output");
    await ask({ kind: "pin", object: two, pinned: false });
    expect(await next()).not.toContain("the second output");
  });

  it("waits for the answer in progress, and replaces no message", async () => {
    await bench.prepare("first");
    await bench.submit(bench.key, request({ kind: "deactivate", object: one }));
    await bench.run();
    const requests = bench.model.requests.length;
    expect(contextOf(bench.model.requests[requests - 1]!)).toContain("the first output");
    expect(await next()).not.toContain("the first output");
  });

  it("is refused beyond a hundred objects until a compaction", async () => {
    const changes = Array.from({ length: 100 }, (_, i) => ({
      id: `x${i}`,
      state: "inactive" as const,
      after: 1,
      at: 1,
    }));
    bench.key = `${bench.key}full`;
    await bench.seed(bench.key, conversation(), { context: { changes } });
    expect(await ask({ kind: "deactivate", object: one })).toMatchObject([
      { ok: false, error: { code: 409 } },
    ]);
    await bench.submit(bench.key, compact("c1", 1));
    await bench.run();
    expect(await ask({ kind: "activate", object: one })).toMatchObject([{ payload: { state: "active" } }]);
  });

  it.each(["activate", "deactivate", "pin"] as const)(
    "M4: has the same result after a death at any AWS call: %s",
    async (kind) => {
      const what: Ask = kind === "pin" ? { kind, object: one, pinned: true } : { kind, object: one };
      let whole: unknown;
      for (let left = Number.POSITIVE_INFINITY; ; left = left === Number.POSITIVE_INFINITY ? 1 : left + 1) {
        bench = stack.bench();
        await begin();
        const life = { left, calls: [] as string[] };
        const frames = await ask(what, life);
        expect(frames.length, `killed after ${left} calls`).toBeGreaterThan(0);
        for (const frame of frames) expect(frame).toMatchObject({ ok: true, payload: { id: one } });
        const { inbox, context } = await bench.state(bench.key);
        expect(inbox).toEqual([]);
        const end = context?.changes?.map(({ at: _, ...change }) => change);
        whole ??= end;
        expect(end, `killed after ${left} calls`).toEqual(whole);
        if (life.calls.length < left && left !== Number.POSITIVE_INFINITY) {
          expect(left).toBeGreaterThan(4);
          return;
        }
      }
    },
  );
});
