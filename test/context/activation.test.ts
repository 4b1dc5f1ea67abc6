import { describe, expect, it } from "vitest";
import { activationOf, type ClientChange } from "../../shared/context/activation.ts";
import { contextCalls, recentCalls } from "../../shared/context/context-calls.ts";
import { activeIds, viewContext } from "../../shared/context/view.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { activated, answer, called, changed, pools, said, settings, turns } from "./conversations.ts";

const active = (messages: Message[], of = settings, changes: ClientChange[] = []) =>
  activeIds(viewContext(messages, 1, { changes }, of)).filter((id) => !id.startsWith("ctx_"));

describe("M28: the objects of a session", () => {
  it("M28: are none in a new one, and one after a call", () => {
    expect(viewContext([said("hi")], 1, undefined, settings).calls).toEqual([]);
    const one = viewContext([said("hi"), ...called("a", "x")], 1, undefined, settings);
    expect(one.calls.map(({ id }) => id)).toEqual(["a"]);
  });

  it("M28: stay when they are deactivated", () => {
    const messages = [said("hi"), ...called("a", "x"), ...changed({ id: "a", state: "inactive" })];
    const view = viewContext(messages, 1, undefined, settings);
    expect(view.calls.map(({ id }) => id)).toContain("a");
    expect(active(messages)).toEqual([]);
  });
});

describe("M36: the automatic window", () => {
  const messages = [
    ...turns(4),
    said("now"),
    ...["a", "b", "c", "d", "e", "f"].flatMap((id) => called(id, "x")),
  ];
  const recent = (calls: number, back: number) =>
    [...recentCalls(contextCalls(messages), 5, { calls, turns: back })].map(({ id }) => id);

  it.each([
    [1, 1, ["f"]],
    [2, 3, ["t3", "t4", "e", "f"]],
    [5, 3, ["t3", "t4", "b", "c", "d", "e", "f"]],
    [0, 1, []],
  ])("M36: with %i calls and %i turns has just these", (calls, back, expected) => {
    expect(recent(calls, back)).toEqual(expected);
  });

  it("M36: is what pools shows; inline shows everything while there is room", () => {
    expect(active(messages, pools)).toEqual(recent(5, 3));
    expect(active(messages)).toHaveLength(10);
  });

  it("M37: does not count context tools", () => {
    const used = [...messages, ...activated("f"), ...activated("f"), ...activated("f")];
    expect(active(used, pools)).toEqual(recent(5, 3));
  });

  it("M36: keeps what is pinned, and what was activated for as many turns", () => {
    const pinned = [...messages, ...activated("t1", "pinned"), ...activated("t2")];
    expect(active(pinned, pools)).toEqual(expect.arrayContaining(["t1", "t2"]));
    const later = [...pinned, said("1"), answer("1"), said("2"), answer("2")];
    expect(active(later, pools)).toEqual(expect.arrayContaining(["t1", "t2"]));
    expect(active([...later, said("3")], pools)).toEqual(["t1"]);
  });
});

describe("M40: the sets of a session", () => {
  it("M40: are a fold over the calls and the changes of clients, each behind its message", () => {
    const messages = [said("q"), ...called("a", "x"), ...activated("a"), answer("done")];
    const client: ClientChange = { id: "a", state: "inactive", after: 3, at: 9 };
    // Behind message 3, which is ahead of the model's own activation: that one counts.
    expect(active(messages, settings, [client])).toEqual(["a"]);
    expect(active(messages, settings, [{ ...client, after: 6 }])).toEqual([]);
  });

  it("M35: pins end by unpinning and by deactivating", () => {
    const pinned = [...turns(5), ...activated("t1", "pinned")];
    expect(active(pinned, pools)).toContain("t1");
    expect(active([...pinned, ...changed({ id: "t1", state: "automatic" })], pools)).not.toContain("t1");
    expect(active([...pinned, ...changed({ id: "t1", state: "inactive" })], pools)).not.toContain("t1");
  });

  it("M40: do not change by a call that failed, that changed nothing, or that another tool answered", () => {
    const text = JSON.stringify({ ok: true, result: { id: "t1", state: "inactive" } });
    const failed = called("c1", text, { name: "gsv__deactivate", isError: true });
    const other = called("c2", text, { name: "n__deactivate" });
    const note = called("c3", JSON.stringify({ ok: true, result: { id: "t1", note: "" } }), {
      name: "gsv__activate",
    });
    const odd = called("c4", "{", { name: "gsv__deactivate" });
    const { on, off } = activationOf([...turns(1), ...failed, ...other, ...note, ...odd], 1);
    expect([...on, ...off]).toEqual([]);
  });

  it("C18: a context tool counts by its bare name too", () => {
    const text = JSON.stringify({ ok: true, result: { id: "t1", state: "inactive" } });
    const { off } = activationOf([...turns(1), ...called("c1", text, { name: "deactivate" })], 1);
    expect([...off]).toEqual(["t1"]);
  });
});

describe("M38: a file that was read twice", () => {
  it("M38: is shown once in pools, as it was last read", () => {
    const read = { name: "n__Read", args: { path: "/a.txt" } };
    const messages = [
      said("q"),
      ...called("r1", "old", read),
      ...called("r2", "new", read),
      ...called("r3", "other", { name: "n__Read", args: { path: "/b.txt" } }),
    ];
    expect(active(messages, pools)).toEqual(["r2", "r3"]);
  });
});
