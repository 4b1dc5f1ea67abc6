import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import { readSummaryMessage } from "../../../shared/session/summary-message.ts";
import { called, said } from "../../context/conversations.ts";
import type { ModelRequest } from "../../support/models/scripted-model.ts";
import { copiesBefore, immortal } from "../bench.ts";
import { compact } from "../compaction/compaction-bench.ts";
import {
  activate,
  type ContextBench,
  type ContextStack,
  deactivate,
  idOf,
  pin,
  startContextStack,
} from "./context-bench.ts";

let stack: ContextStack;
let bench: ContextBench;

beforeAll(async () => {
  stack = await startContextStack();
});
beforeEach(() => {
  bench = stack.bench();
});
afterAll(() => stack?.close());

/** Turns with a call each; the results differ by their number. */
const conversation = (count: number, from = 0): Message[] =>
  Array.from({ length: count }, (_, i) => {
    const number = from + i;
    const text = `output number ${number}; ${"x".repeat(100)}`;
    return [said(`question ${number}`), ...called(idOf(`n${number}`), text), answered];
  }).flat();
const answered: Message = { role: "assistant", content: [{ type: "text", text: "done" }], timestamp: 2 };

const contextOf = ({ turns }: ModelRequest) => turns.map(({ text }) => text).join("\n");
const compactNow = async (keep: number) => {
  await bench.submit(bench.key, compact(`c${bench.later}`, keep));
  await bench.run();
};
const summaryOf = async () => (await bench.live(bench.key))[0] as Extract<Message, { role: "user" }>;

describe("M41: an archived call", () => {
  it.each(["inline", "pools"] as const)(
    "M41: can be activated by its id after a compaction, in %s",
    async (rendering) => {
      bench.configuration.context.rendering = rendering;
      await bench.seed(bench.key, conversation(8));
      await compactNow(4);
      const [request] = await bench.turn("what was it?");
      expect(contextOf(request!)).not.toContain("output number 2;");
      expect(contextOf(request!)).toContain(
        `- id=${idOf("n2")} type=toolcall tool=n__Bash args=n__Bash: "run ${idOf("n2")}" status=ok 117 characters`,
      );
      const [, shown] = await bench.turn("show it", [activate(idOf("a"), idOf("n2"))]);
      expect(contextOf(shown!)).toContain(`<object id="${idOf("n2")}"`);
      expect(contextOf(shown!)).toContain("output number 2;");
      const [, gone] = await bench.turn("let it go", [deactivate(idOf("d"), idOf("n2"))]);
      expect(contextOf(gone!)).not.toContain("output number 2;");
    },
  );

  it("M41: can be activated after several compactions, and a pin survives them", async () => {
    await bench.seed(bench.key, conversation(6));
    await bench.turn("pin", [pin(idOf("p"), idOf("n1"))]);
    await compactNow(2);
    await bench.turn("more", [activate(idOf("a"), idOf("n3"))]);
    await bench.turn("and more");
    await compactNow(2);
    await bench.turn("and more");
    await compactNow(1);
    const { earlier } = await summaryOf();
    expect(earlier!.calls.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5].map((n) => idOf(`n${n}`)));
    const [request] = await bench.turn("still?");
    expect(contextOf(request!)).toContain("output number 1;");
    const [, again] = await bench.turn("show", [activate(idOf("b"), idOf("n5"))]);
    expect(contextOf(again!)).toContain("output number 5;");
  });

  it("M41: stays active when its message is archived and later messages stay", async () => {
    await bench.seed(bench.key, conversation(230));
    await bench.turn("pin the first", [pin(idOf("p"), idOf("n0"))]);
    await compactNow(4);
    expect((await bench.live(bench.key)).map(textOf).join()).toContain('"state":"pinned"');
    const [request] = await bench.turn("still?");
    expect(contextOf(request!)).toContain("output number 0;");
    await compactNow(1);
    const [later] = await bench.turn("and now?");
    expect(contextOf(later!)).toContain("output number 0;");
  });

  it("M41: is found in the archives when the list has no room for it", async () => {
    await bench.seed(bench.key, conversation(230));
    await compactNow(4);
    const { earlier } = await summaryOf();
    expect(earlier).toMatchObject({ more: 29 });
    expect(earlier!.calls).toHaveLength(200);
    const [request] = await bench.turn("and?");
    expect(contextOf(request!)).toMatch(
      /- … \d+ older calls that are not listed; their ids are accepted too/,
    );
    for (const number of [0, 28, 29, 120, 228]) {
      const id = idOf(`n${number}`);
      const [, shown] = await bench.turn("show", [activate(idOf(`s${number}`), id)]);
      expect(contextOf(shown!)).toContain(`output number ${number};`);
      await bench.turn("enough", [deactivate(idOf(`e${number}`), id)]);
    }
  });

  it("stays active no longer than others, and its archive is not read before", async () => {
    await bench.seed(bench.key, conversation(6));
    await compactNow(2);
    const archives = () => reads.filter((key) => key.includes("-part"));
    const reads: string[] = [];
    const { bucket } = bench.store;
    const { get } = bucket;
    bucket.get = (key) => {
      reads.push(key);
      return get(key);
    };
    try {
      await bench.turn("hello");
      expect(archives()).toEqual([]);
      await bench.turn("show", [activate(idOf("a"), idOf("n1"))]);
      expect(archives().length).toBeGreaterThan(0);
      const [one] = await bench.turn("1");
      const [two] = await bench.turn("2");
      const [three] = await bench.turn("3");
      expect([one, two, three].map((request) => contextOf(request!).includes("output number 1;"))).toEqual([
        true,
        true,
        false,
      ]);
    } finally {
      bucket.get = get;
    }
  });

  it("C10: leaves conversations unchanged that were compacted before objects existed", async () => {
    await bench.seed(bench.key, [
      said("[Summary of the earlier conversation: 4 messages, archived]\n\nThey talked."),
      ...conversation(2),
    ]);
    const [request] = await bench.turn("and?");
    expect(readSummaryMessage((await bench.live(bench.key))[0])).toBeDefined();
    expect(contextOf(request!)).not.toContain("known_objects");
    const [, shown] = await bench.turn("show", [activate(idOf("a"), idOf("n9"))]);
    expect(shown!.turns.at(-1)!.text).toContain("Object not found");
  });
});

describe("a reset", () => {
  it("begins with nothing active", async () => {
    await bench.seed(bench.key, conversation(3));
    const origin = { kind: "client" } as const;
    const asked = { kind: "pin", object: idOf("n1"), pinned: true, via: "method" } as const;
    await bench.submit(bench.key, { id: "pin", at: Date.now(), origin, ...asked });
    await bench.run();
    expect(await bench.state(bench.key)).toHaveProperty("context");
    await bench.submit(bench.key, { id: "reset", at: Date.now(), origin, kind: "reset", via: "method" });
    await bench.run();
    const [, request] = await bench.turn("hello", [activate(idOf("a"), idOf("n1"))]);
    expect(contextOf(request!)).not.toContain("output number 1;");
    expect(await bench.state(bench.key)).not.toHaveProperty("context");
  });
});

describe("M4: a process that dies during a context tool", () => {
  it.each([
    ["activate of an archived call", activate],
    ["pin of an archived call", pin],
  ] as const)(
    "has the same result after any of its AWS calls: %s",
    async (_, tool) => {
      await checkEveryDeath(
        (id) => tool(idOf("t"), id),
        async () => idOf("n2"),
        "output number 2;",
      );
    },
    240_000,
  );

  it("has the same result after any of its AWS calls: pin of a file", async () => {
    const path = "notes/plan.md";
    await checkEveryDeath(
      (id) => pin(idOf("t"), id),
      async () => {
        await bench.agent().workspace.write(bench.key.split(":")[1]!, path, "the plan");
        return `file:gsv:${path}`;
      },
      "the plan",
    );
  }, 240_000);

  async function checkEveryDeath(
    tool: (id: string) => ReturnType<typeof activate>,
    prepare: () => Promise<string>,
    content: string,
  ): Promise<void> {
    await bench.seed(bench.key, conversation(4));
    await compactNow(2);
    const id = await prepare();
    await bench.prepare("do it", [tool(id)]);
    const { copies, before } = copiesBefore(() => bench.store.copy());
    const endOf = async (where: string) => {
      const [request] = await bench.turn("and now?");
      expect(contextOf(request!), where).toContain(content);
      return (await bench.live(bench.key)).map((message) => [message.role, unnamed(textOf(message))]);
    };
    await bench.run({ ...immortal(), before });
    const whole = bench;
    const end = await endOf("not killed");
    expect(copies.length).toBeGreaterThan(10);
    for (const [calls, state] of copies.entries()) {
      bench = stack.over(whole, state);
      bench.script("do it", [tool(id)]);
      await bench.run();
      const where = `killed after ${calls} calls`;
      expect(await endOf(where), where).toEqual(end);
    }
  }

  /** Compactions differ by their time. */
  const unnamed = (text: string) => text.replace(/"at":\d+/g, '"at":0');
});
