import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  above,
  absent,
  add,
  all,
  any,
  append,
  atMost,
  below,
  type Condition,
  equal,
  exists,
  remove,
  set,
  setIfAbsent,
} from "../../shared/world/expression.ts";
import { ConditionFailed, type Item, type Key, type Table } from "../../shared/world/world.ts";

const refused = { name: "ValidationException" };

/** What every table must do, whatever stands behind it. */
export function describeTable(
  name: string,
  open: () => Promise<{ table: Table; close(): Promise<void> }>,
): void {
  describe(name, () => {
    let table: Table;
    let close: () => Promise<void>;
    let made = 0;

    beforeAll(async () => {
      ({ table, close } = await open());
    });
    afterAll(async () => close());

    /** A key that no other test uses. */
    const freshKey = (): Key => ({ pk: `T#${made++}`, sk: "META" });
    const putFresh = async (fields: Item): Promise<Key> => {
      const key = freshKey();
      await table.put({ ...key, ...fields });
      return key;
    };
    const fails = (written: Promise<unknown>) => expect(written).rejects.toBeInstanceOf(ConditionFailed);
    const isRefused = (written: Promise<unknown>) => expect(written).rejects.toMatchObject(refused);

    describe("items", () => {
      it("are returned as they were put, without what is undefined", async () => {
        const fields = { text: "größe", empty: "", list: [1, [true, null]], map: { inner: -0.5 } };
        const key = await putFresh({ ...fields, map: { ...fields.map, gone: undefined } });
        expect(await table.get(key)).toEqual({ ...key, ...fields });
      });

      it("are replaced whole by a put, and gone after a delete, which returns them", async () => {
        const key = await putFresh({ a: 1 });
        await table.put({ ...key, b: 2 });
        expect(await table.delete(key)).toEqual({ ...key, b: 2 });
        expect(await table.get(key)).toBeUndefined();
        expect(await table.delete(key)).toBeUndefined();
      });

      it("are the caller's own copies", async () => {
        const list = [1];
        const key = await putFresh({ list });
        list.push(2);
        const first = await table.get(key);
        (first!.list as number[]).push(3);
        expect(await table.get(key)).toEqual({ ...key, list: [1] });
      });

      it("need both parts of the key", async () => {
        await isRefused(table.put({ pk: "", sk: "META" }));
        await isRefused(table.get({ pk: "T", sk: "" }));
      });

      it("are refused above 400 KB, in UTF-8 bytes", async () => {
        const key = await putFresh({ text: "x".repeat(300_000) });
        await isRefused(table.put({ ...freshKey(), text: "x".repeat(410_000) }));
        await isRefused(table.update(key, [set("more", "x".repeat(110_000))]));
        expect(await table.get(key)).not.toHaveProperty("more");
      });
    });

    describe("an update", () => {
      it("returns the whole item, and makes one that was not there", async () => {
        const key = freshKey();
        expect(await table.update(key, [set("a", 1)])).toEqual({ ...key, a: 1 });
        expect(await table.update(key, [set("b", 2)])).toEqual({ ...key, a: 1, b: 2 });
      });

      it("applies all steps to the item as it was before", async () => {
        const key = await putFresh({ list: ["a", "b", "c"], count: 1, map: { old: 1 } });
        const steps = [
          remove(["list", 0]),
          add("count", 2),
          setIfAbsent("count2", 7),
          remove(["map", "old"]),
        ];
        expect(await table.update(key, [...steps, set(["map", "new"], 2)])).toEqual({
          ...key,
          list: ["b", "c"],
          count: 3,
          count2: 7,
          map: { new: 2 },
        });
      });

      it("adds to numbers and appends to lists, which count as 0 and empty when absent", async () => {
        const key = freshKey();
        await table.update(key, [add("n", -3), append("list", "a", { b: 1 })]);
        const item = await table.update(key, [add("n", 5), append("list", ["c"])]);
        expect(item).toEqual({ ...key, n: 2, list: ["a", { b: 1 }, ["c"]] });
      });

      it("sets what is absent and leaves what is there", async () => {
        const key = await putFresh({ there: 1 });
        const item = await table.update(key, [setIfAbsent("there", 2), setIfAbsent("missing", 3)]);
        expect(item).toEqual({ ...key, there: 1, missing: 3 });
      });

      it("reaches into maps and lists by names with any character in them", async () => {
        const key = await putFresh({ map: { "a.b#c": { deep: [{ x: 1 }, { x: 2 }] } } });
        const item = await table.update(key, [
          set(["map", "a.b#c", "deep", 1, "x"], 3),
          remove(["map", "a.b#c", "deep", 0, "x"]),
          set(["map", "constructor"], "plain"),
        ]);
        expect(item.map).toEqual({ "a.b#c": { deep: [{}, { x: 3 }] }, constructor: "plain" });
      });

      it("takes an index past the end of a list for the end", async () => {
        const key = await putFresh({ list: ["a"] });
        expect((await table.update(key, [set(["list", 9], "b")])).list).toEqual(["a", "b"]);
        expect((await table.update(key, [remove(["list", 9])])).list).toEqual(["a", "b"]);
      });

      it("is refused below a map that is not there, and changes nothing", async () => {
        const key = await putFresh({ a: 1 });
        await isRefused(table.update(key, [set("b", 2), set(["map", "x"], 1)]));
        await isRefused(table.update(key, [remove(["map", "x"])]));
        await isRefused(table.update(key, [set(["a", "x"], 1)]));
        await isRefused(table.update(freshKey(), [set(["map", "x"], 1)]));
        expect(await table.get(key)).toEqual({ ...key, a: 1 });
      });

      it("removes what is absent without complaint", async () => {
        const key = await putFresh({ map: {} });
        expect(await table.update(key, [remove("none"), remove(["map", "none"])])).toEqual({
          ...key,
          map: {},
        });
      });

      it("is refused where the value has the wrong type", async () => {
        const key = await putFresh({ text: "x" });
        await isRefused(table.update(key, [add("text", 1)]));
        await isRefused(table.update(key, [append("text", 1)]));
      });

      it("is refused where two steps touch the same place", async () => {
        const key = await putFresh({ map: { x: 1 } });
        await isRefused(table.update(key, [set("map", {}), set(["map", "x"], 2)]));
        await isRefused(table.update(key, [set("a", 1), remove("a")]));
      });

      it("cannot change the key", async () => {
        const key = await putFresh({});
        await isRefused(table.update(key, [set("sk", "other")]));
      });
    });

    describe("a condition", () => {
      const item: Item = {
        n: 5,
        text: "b",
        flag: true,
        nothing: null,
        map: { "x.y": 1 },
        list: [{ id: "one" }],
      };
      const held: [string, Condition][] = [
        ["equal numbers, texts and booleans", all(equal("n", 5), equal("text", "b"), equal("flag", true))],
        [
          "order of numbers",
          all(below("n", 6), above("n", 4), atMost("n", 5), { is: ">=", path: "n", value: 5 }),
        ],
        ["order of texts by bytes", all(below("text", "c"), above("text", "B"), below("text", "é"))],
        ["what exists, null too", all(exists("map"), exists("nothing"), exists(["map", "x.y"]))],
        ["what is absent", all(absent("none"), absent(["map", "x"]), absent(["none", "x"]))],
        ["places in lists", all(exists(["list", 0]), equal(["list", 0, "id"], "one"), absent(["list", 1]))],
        ["one of several", any(equal("n", 1), all(exists("n"), any(absent("n"), equal("text", "b"))))],
        [
          "difference, of what is absent too",
          all({ is: "<>", path: "n", value: 4 }, { is: "<>", path: "none", value: 1 }),
        ],
        ["difference of types", { is: "<>", path: "n", value: "5" }],
      ];
      const broken: [string, Condition][] = [
        ["another value", equal("n", 6)],
        ["another type", any(equal("n", "5"), below("n", "9"), atMost("text", 9))],
        ["a comparison with what is absent", any(below("none", 9), above("none", 0), equal("none", 0))],
        ["a comparison below what is absent", any(above(["none", "x"], 0), equal(["list", 3, "id"], "one"))],
        ["a name inside a list, an index inside a map", any(exists(["list", "id"]), exists(["map", 0]))],
        ["one of two", all(equal("n", 5), equal("text", "c"))],
        ["equality by <>", { is: "<>", path: "n", value: 5 }],
      ];

      it.each(held)("holds: %s", async (_, condition) => {
        const key = await putFresh(item);
        expect(await table.update(key, [set("done", 1)], condition)).toMatchObject({ done: 1 });
      });

      it.each(broken)("does not hold, and nothing is written: %s", async (_, condition) => {
        const key = await putFresh(item);
        await fails(table.update(key, [set("done", 1)], condition));
        await fails(table.put({ ...key, done: 1 }, condition));
        await fails(table.delete(key, condition));
        expect(await table.get(key)).toEqual({ ...key, ...item });
      });

      it("judges an absent item as one without attributes", async () => {
        const key = freshKey();
        await fails(table.update(key, [set("a", 1)], exists("pk")));
        await fails(table.put({ ...key, a: 1 }, atMost("epoch", 3)));
        await fails(table.delete(key, equal("a", 1)));
        expect(await table.get(key)).toBeUndefined();
        await table.put({ ...key, a: 1 }, any(absent("pk"), atMost("epoch", 3)));
        await fails(table.put({ ...key, a: 2 }, absent("pk")));
        expect(await table.get(key)).toEqual({ ...key, a: 1 });
      });

      it("is judged before the update's paths", async () => {
        await fails(table.update(freshKey(), [set(["map", "x"], 1)], exists("pk")));
      });

      it("lets exactly one of many concurrent writes through", async () => {
        const key = await putFresh({});
        const writes = Array.from({ length: 20 }, (_, n) => table.update(key, [set("by", n)], absent("by")));
        const settled = await Promise.allSettled(writes);
        expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      });
    });

    describe("a query", () => {
      const skOf = (items: Item[]) => items.map(({ sk }) => sk);

      it("reads one partition in the order of the sort key's bytes", async () => {
        const { pk } = freshKey();
        for (const sk of ["b", "B", "é", "a", "a#1"]) await table.put({ pk, sk });
        await table.put({ pk: `${pk}x`, sk: "a" });
        expect(skOf(await table.query({ pk }))).toEqual(["B", "a", "a#1", "b", "é"]);
        expect(skOf(await table.query({ pk, descending: true, limit: 2 }))).toEqual(["é", "b"]);
        expect(skOf(await table.query({ pk, prefix: "a" }))).toEqual(["a", "a#1"]);
        expect(skOf(await table.query({ pk, from: "a", to: "b" }))).toEqual(["a", "a#1", "b"]);
        expect(skOf(await table.query({ pk, from: "a#" }))).toEqual(["a#1", "b", "é"]);
        expect(skOf(await table.query({ pk, to: "a" }))).toEqual(["B", "a"]);
        expect(await table.query({ pk: `${pk}none` })).toEqual([]);
      });

      it("is refused when it ends before it begins", async () => {
        await isRefused(table.query({ pk: "T", from: "b", to: "a" }));
      });

      it("goes on past a page of 1 MB", async () => {
        const { pk } = freshKey();
        for (let n = 0; n < 5; n++) await table.put({ pk, sk: `${n}`, text: "x".repeat(300_000) });
        expect(skOf(await table.query({ pk }))).toHaveLength(5);
        expect(skOf(await table.query({ pk, limit: 4 }))).toHaveLength(4);
      });
    });

    describe("an index", () => {
      it("holds only items with both of its attributes, by number, with what it projects", async () => {
        const index = `LIST#${made++}`;
        const put = (n: number, fields: Item) => table.put({ pk: `${index}#${n}`, sk: "META", ...fields });
        await put(1, { listPk: index, listSk: 10, sessionKey: "ten", label: "l", inbox: ["secret"] });
        await put(2, { listPk: index, listSk: 9, sessionKey: "nine" });
        await put(3, { listPk: index });
        await put(4, { listSk: 1 });
        const found = await table.queryIndex({ index: "list", pk: index });
        expect(found).toEqual([
          { pk: `${index}#2`, sk: "META", listPk: index, listSk: 9, sessionKey: "nine" },
          { pk: `${index}#1`, sk: "META", listPk: index, listSk: 10, sessionKey: "ten", label: "l" },
        ]);
        const newest = await table.queryIndex({ index: "list", pk: index, descending: true, limit: 1 });
        expect(newest).toEqual(found.slice(1));
      });

      it("drops an item whose attribute is removed, and takes up to a value", async () => {
        const index = `DUE#${made++}`;
        const keys = [freshKey(), freshKey(), freshKey()];
        for (const [n, key] of keys.entries()) await table.put({ ...key, duePk: index, dueAt: n, more: n });
        const upTo = async (value: number) =>
          (await table.queryIndex({ index: "due", pk: index, upTo: value })).map(({ pk }) => pk);
        expect(await upTo(1)).toEqual([keys[0]!.pk, keys[1]!.pk]);
        await table.update(keys[0]!, [remove("duePk"), remove("dueAt")]);
        await table.update(keys[1]!, [set("dueAt", 5)]);
        expect(await upTo(4)).toEqual([keys[2]!.pk]);
        expect(await table.queryIndex({ index: "due", pk: index, upTo: 5 })).toEqual([
          { ...keys[2]!, duePk: index, dueAt: 2 },
          { ...keys[1]!, duePk: index, dueAt: 5 },
        ]);
      });

      it("refuses attributes that it cannot order by", async () => {
        await isRefused(table.put({ ...freshKey(), listPk: "L", listSk: "1" }));
        const key = await putFresh({});
        await isRefused(table.update(key, [set("dueAt", "soon")]));
      });
    });
  });
}
