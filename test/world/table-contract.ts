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
  lacks,
  remove,
  set,
  setIfAbsent,
} from "../../shared/world/expression.ts";
import { ConditionFailed, type Item, type ItemValue, type Table } from "../../shared/world/world.ts";
import { createBench } from "./table-bench.ts";
import { describeReads } from "./table-reads-contract.ts";

/**
 * What every table must do, for every implementation.
 * @param knownFaults names of the cases that the server behind the table is known to fail; one that holds after all fails
 */
export function describeTable(
  name: string,
  open: () => Promise<{ table: Table; close(): Promise<void> }>,
  knownFaults: readonly string[] = [],
): void {
  describe(name, () => {
    let table: Table;
    let close: () => Promise<void>;

    beforeAll(async () => {
      ({ table, close } = await open());
    });
    afterAll(async () => close());

    const bench = createBench(() => table, knownFaults);
    const { holds, freshKey, freshName, putFresh, isRefused } = bench;
    const fails = (written: Promise<unknown>) => expect(written).rejects.toBeInstanceOf(ConditionFailed);

    describe("items", () => {
      holds("are returned as they were put, without what is undefined", async () => {
        const fields = { text: "größe", empty: "", list: [1, [true, null]], map: { inner: -0.5 } };
        const key = await putFresh({ ...fields, map: { ...fields.map, gone: undefined } });
        expect(await table.get(key)).toEqual({ ...key, ...fields });
      });

      holds("are replaced whole by a put, and gone after a delete, which returns them", async () => {
        const key = await putFresh({ a: 1 });
        await table.put({ ...key, b: 2 });
        expect(await table.delete(key)).toEqual({ ...key, b: 2 });
        expect(await table.get(key)).toBeUndefined();
        expect(await table.delete(key)).toBeUndefined();
      });

      holds("are the caller's own copies", async () => {
        const list = [1];
        const key = await putFresh({ list });
        list.push(2);
        const first = await table.get(key);
        (first!.list as number[]).push(3);
        expect(await table.get(key)).toEqual({ ...key, list: [1] });
      });

      holds("are the caller's own copies after an update, a delete and both queries, too", async () => {
        const index = freshName("OWN");
        const given = { list: [1] };
        const key = await putFresh({ listPk: index, listSk: 1, label: { list: [1] } });
        const spoil = (item: Item | undefined) => {
          (item?.label as typeof given | undefined)?.list.push(9);
        };
        spoil(await table.update(key, [set("given", given)]));
        given.list.push(9);
        spoil((await table.query({ pk: key.pk }))[0]);
        spoil((await table.queryIndex({ index: "list", pk: index }))[0]);
        const whole = { ...key, listPk: index, listSk: 1, label: { list: [1] }, given: { list: [1] } };
        expect(await table.get(key)).toEqual(whole);
        expect(await table.delete(key)).toEqual(whole);
      });

      holds("may have names of any characters", async () => {
        const fields = { "a.b": 1, größe: 2, "#n": { ":v": 4, toString: 5 } };
        const key = await putFresh(fields);
        const changed = { ...fields, "a.b": 2, "#n": { ":v": 5, toString: 5 } };
        expect(await table.update(key, [add("a.b", 1), add(["#n", ":v"], 1)])).toEqual({
          ...key,
          ...changed,
        });
        expect(await table.get(key)).toEqual({ ...key, ...changed });
      });

      holds("need both parts of the key", async () => {
        await isRefused(table.put({ pk: "", sk: "META" }));
        await isRefused(table.get({ pk: "T", sk: "" }));
      });

      holds("need a key of at most 2048 and 1024 bytes", async () => {
        await isRefused(table.put({ pk: "x".repeat(2049), sk: "A" }));
        await isRefused(table.get({ pk: "T", sk: "x".repeat(1025) }));
        const key = { pk: `${"x".repeat(2000)}${freshName("")}`, sk: "x".repeat(1024) };
        await table.put({ ...key, a: 1 });
        expect(await table.get(key)).toEqual({ ...key, a: 1 });
      });

      holds("keep attributes of any name, in maps too", async () => {
        const names = [
          "__proto__",
          "__proto__~",
          "constructor",
          "toString",
          "hasOwnProperty",
          "a.b",
          "#n",
          ":v",
        ];
        const map = Object.fromEntries(names.map((name, n): [string, ItemValue] => [name, { [name]: n }]));
        const key = await putFresh({ map, list: [map] });
        const whole = { ...key, map, list: [map] };
        const found = await table.get(key);
        expect(found).toEqual(whole);
        expect(Object.keys(found?.map ?? {}).sort()).toEqual([...names].sort());
        expect(await table.query({ pk: key.pk })).toEqual([whole]);
        for (const name of names) {
          const isNew = absent(["recent", name]);
          const more = set(["map", name, "more"], [map]);
          await table.put({ ...key, map, recent: {} });
          const item = await table.update(key, [set(["recent", name], 1), more], isNew);
          expect(Object.entries(item.recent ?? {})).toEqual([[name, 1]]);
          const inner = (item.map as Record<string, Item>)[name] as Item;
          expect(inner.more).toEqual([map]);
          await fails(table.update(key, [set("again", 1)], isNew));
          expect((await table.update(key, [remove(["recent", name])])).recent).toEqual({});
          expect(Object.keys((await table.delete(key))?.map ?? {}).sort()).toEqual([...names].sort());
        }
      });

      holds("hold no number that is none", async () => {
        const key = await putFresh({ n: 1 });
        for (const n of [Number.NaN, Number.POSITIVE_INFINITY]) {
          await expect(table.put({ ...key, n })).rejects.toThrow();
          await expect(table.update(key, [set(["n"], [n])])).rejects.toThrow();
        }
        expect(await table.get(key)).toEqual({ ...key, n: 1 });
      });

      holds("have lists and maps in each other up to 32 levels deep", async () => {
        const nested = (levels: number): ItemValue => {
          let value: ItemValue = "inner";
          for (let n = 0; n < levels; n++) value = n % 2 === 0 ? [value] : { in: value };
          return value;
        };
        const key = await putFresh({ deep: nested(32) });
        expect(await table.get(key)).toEqual({ ...key, deep: nested(32) });
        await isRefused(table.put({ ...key, deep: nested(33) }));
        await isRefused(table.update(key, [set("deep", nested(33))]));
        expect(await table.get(key)).toEqual({ ...key, deep: nested(32) });
      });

      holds("are refused above 400 KB, in UTF-8 bytes", async () => {
        const key = await putFresh({ text: "x".repeat(300_000) });
        await isRefused(table.put({ ...freshKey(), text: "x".repeat(410_000) }));
        await isRefused(table.update(key, [set("more", "x".repeat(110_000))]));
        await isRefused(table.put({ ...freshKey(), text: "ä".repeat(210 * 1024) }));
        await isRefused(table.put({ ...freshKey(), many: Array(210_000).fill("x") }));
        expect(await table.get(key)).not.toHaveProperty("more");
      });
    });

    describe("an update", () => {
      holds("returns the whole item, and makes one that was not there", async () => {
        const key = freshKey();
        expect(await table.update(key, [set("a", 1)])).toEqual({ ...key, a: 1 });
        expect(await table.update(key, [set("b", 2)])).toEqual({ ...key, a: 1, b: 2 });
      });

      holds("applies all steps to the item as it was before", async () => {
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

      holds("adds to numbers and appends to lists, which count as 0 and empty when absent", async () => {
        const key = freshKey();
        await table.update(key, [add("n", -3), append("list", "a", { b: 1 })]);
        const item = await table.update(key, [add("n", 5), append("list", ["c"])]);
        expect(item).toEqual({ ...key, n: 2, list: ["a", { b: 1 }, ["c"]] });
      });

      holds("adds decimals exactly", async () => {
        const key = await putFresh({ n: 0.1 });
        expect((await table.update(key, [add("n", 0.2)])).n).toBe(0.3);
      });

      holds("sets what is absent and leaves what is there", async () => {
        const key = await putFresh({ there: 1, nothing: null });
        const steps = [setIfAbsent("there", 2), setIfAbsent("missing", 3), setIfAbsent("nothing", 4)];
        expect(await table.update(key, steps)).toEqual({ ...key, there: 1, missing: 3, nothing: null });
      });

      holds("reaches into maps and lists by names with any character in them", async () => {
        const key = await putFresh({ map: { "a.b#c": { deep: [{ x: 1 }, { x: 2 }] } } });
        const item = await table.update(key, [
          set(["map", "a.b#c", "deep", 1, "x"], 3),
          remove(["map", "a.b#c", "deep", 0, "x"]),
          set(["map", "constructor"], "plain"),
        ]);
        expect(item.map).toEqual({ "a.b#c": { deep: [{}, { x: 3 }] }, constructor: "plain" });
      });

      holds("takes an index past the end of a list for the end", async () => {
        const key = await putFresh({ list: ["a"] });
        expect((await table.update(key, [set(["list", 9], "b")])).list).toEqual(["a", "b"]);
        expect((await table.update(key, [remove(["list", 9])])).list).toEqual(["a", "b"]);
      });

      holds("is refused below a map that is not there, and changes nothing", async () => {
        const key = await putFresh({ a: 1 });
        await isRefused(table.update(key, [set("b", 2), set(["map", "x"], 1)]));
        await isRefused(table.update(key, [remove(["map", "x"])]));
        await isRefused(table.update(key, [set(["a", "x"], 1)]));
        await isRefused(table.update(freshKey(), [set(["map", "x"], 1)]));
        expect(await table.get(key)).toEqual({ ...key, a: 1 });
      });

      holds("removes what is absent without complaint", async () => {
        const key = await putFresh({ map: {} });
        expect(await table.update(key, [remove("none"), remove(["map", "none"])])).toEqual({
          ...key,
          map: {},
        });
      });

      holds("is refused where the value has the wrong type", async () => {
        const key = await putFresh({ text: "x", nothing: null });
        for (const name of ["text", "nothing"]) {
          await isRefused(table.update(key, [add(name, 1)]));
          await isRefused(table.update(key, [append(name, 1)]));
        }
      });

      holds("is refused where two steps touch the same place", async () => {
        const key = await putFresh({ map: { x: 1 } });
        await isRefused(table.update(key, [set("map", {}), set(["map", "x"], 2)]));
        await isRefused(table.update(key, [set("a", 1), remove("a")]));
      });

      holds("cannot change the key", async () => {
        const key = await putFresh({});
        await isRefused(table.update(key, [set("sk", "other")]));
      });
    });

    describe("a condition", () => {
      const item: Item = {
        n: 5,
        text: "b",
        long: "abcdef",
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
        ["a text without a part, absent too", all(lacks("text", "c"), lacks("none", "b"))],
      ];
      const broken: [string, Condition][] = [
        ["another value", equal("n", 6)],
        ["another type", any(equal("n", "5"), below("n", "9"), atMost("text", 9))],
        ["a comparison with what is absent", any(below("none", 9), above("none", 0), equal("none", 0))],
        ["a comparison below what is absent", any(above(["none", "x"], 0), equal(["list", 3, "id"], "one"))],
        ["a name inside a list, an index inside a map", any(exists(["list", "id"]), exists(["map", 0]))],
        ["one of two", all(equal("n", 5), equal("text", "c"))],
        ["equality by <>", { is: "<>", path: "n", value: 5 }],
        ["a text with a part", lacks("long", "bcd")],
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

      holds("judges an absent item as one without attributes", async () => {
        const key = freshKey();
        await fails(table.update(key, [set("a", 1)], exists("pk")));
        await fails(table.put({ ...key, a: 1 }, atMost("epoch", 3)));
        await fails(table.delete(key, equal("a", 1)));
        expect(await table.get(key)).toBeUndefined();
        await table.put({ ...key, a: 1 }, any(absent("pk"), atMost("epoch", 3)));
        await fails(table.put({ ...key, a: 2 }, absent("pk")));
        expect(await table.get(key)).toEqual({ ...key, a: 1 });
      });

      holds("is judged before the update's paths", async () => {
        await fails(table.update(freshKey(), [set(["map", "x"], 1)], exists("pk")));
      });

      holds("lets exactly one of many concurrent writes through", async () => {
        const key = await putFresh({});
        const writes = Array.from({ length: 20 }, (_, n) => table.update(key, [set("by", n)], absent("by")));
        const settled = await Promise.allSettled(writes);
        expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      });

      holds("loses none of many concurrent updates", async () => {
        const key = await putFresh({});
        await Promise.all(
          Array.from({ length: 50 }, (_, n) => table.update(key, [add("n", 1), append("by", n)])),
        );
        const found = await table.get(key);
        expect(found?.n).toBe(50);
        expect(new Set(found?.by as number[]).size).toBe(50);
      });
    });

    describeReads(bench);
  });
}
