import { describe, expect } from "vitest";
import { remove, set } from "../../shared/world/expression.ts";
import type { Item } from "../../shared/world/world.ts";
import type { TableBench } from "./table-bench.ts";

/** Writes twenty items at a time: a process that begins hundreds of calls at once is busy until its connections time out. */
async function inTurns(sks: string[], write: (sk: string) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < sks.length; from += 20) await Promise.all(sks.slice(from, from + 20).map(write));
}

/** Queries and indexes: the part of `describeTable` that reads several items. */
export function describeReads({ table, holds, freshKey, freshName, putFresh, isRefused }: TableBench): void {
  describe("a query", () => {
    const skOf = (items: Item[]) => items.map(({ sk }) => sk);

    holds("reads one partition in the order of the sort key's bytes", async () => {
      const { pk } = freshKey();
      for (const sk of ["b", "B", "é", "a", "a#1"]) await table().put({ pk, sk });
      await table().put({ pk: `${pk}x`, sk: "a" });
      expect(skOf(await table().query({ pk }))).toEqual(["B", "a", "a#1", "b", "é"]);
      expect(skOf(await table().query({ pk, descending: true, limit: 2 }))).toEqual(["é", "b"]);
      expect(skOf(await table().query({ pk, prefix: "a" }))).toEqual(["a", "a#1"]);
      expect(skOf(await table().query({ pk, from: "a", to: "b" }))).toEqual(["a", "a#1", "b"]);
      expect(skOf(await table().query({ pk, from: "a#" }))).toEqual(["a#1", "b", "é"]);
      expect(skOf(await table().query({ pk, to: "a" }))).toEqual(["B", "a"]);
      expect(await table().query({ pk: `${pk}none` })).toEqual([]);
    });

    holds("orders characters beyond U+FFFF after those before them", async () => {
      const { pk } = freshKey();
      const inOrder = [
        "a",
        "a\u{7f}",
        "a\u{80}",
        "a\u{7ff}",
        "a\u{d7ff}",
        "a\u{ff5e}",
        "a\u{1f600}",
        "a\u{10ffff}",
      ];
      for (const sk of inOrder.toReversed()) await table().put({ pk, sk });
      expect(skOf(await table().query({ pk }))).toEqual(inOrder);
      expect(skOf(await table().query({ pk, from: "a\u{ff5e}", to: "a\u{1f600}" }))).toEqual(
        inOrder.slice(5, 7),
      );
      expect(skOf(await table().query({ pk, prefix: "a\u{1f600}" }))).toEqual(inOrder.slice(6, 7));
      expect(skOf(await table().query({ pk, prefix: "a", descending: true, limit: 2 }))).toEqual(
        inOrder.slice(-2).toReversed(),
      );
    });

    holds("finds each of many items, whatever the order of their writes", async () => {
      const { pk } = freshKey();
      const sks = Array.from({ length: 300 }, (_, n) => `N#${String((n * 7) % 300).padStart(3, "0")}`);
      await inTurns(sks, (sk) => table().put({ pk, sk }));
      expect(skOf(await table().query({ pk, prefix: "N#" }))).toEqual(sks.toSorted());
      await inTurns(
        sks.filter((_, n) => n % 3 > 0),
        (sk) => table().delete({ pk, sk }),
      );
      const left = sks.filter((_, n) => n % 3 === 0).toSorted();
      expect(skOf(await table().query({ pk, descending: true }))).toEqual(left.toReversed());
      expect(skOf(await table().query({ pk, from: "N#100", limit: 3 }))).toEqual(
        left.filter((sk) => sk >= "N#100").slice(0, 3),
      );
    });

    holds("is refused when it ends before it begins", async () => {
      await isRefused(table().query({ pk: "T", from: "b", to: "a" }));
    });

    holds("goes on past a page of 1 MB", async () => {
      const { pk } = freshKey();
      for (let n = 0; n < 5; n++) await table().put({ pk, sk: `${n}`, text: "x".repeat(300_000) });
      expect(skOf(await table().query({ pk }))).toHaveLength(5);
      expect(skOf(await table().query({ pk, limit: 4 }))).toHaveLength(4);
      expect(skOf(await table().query({ pk, descending: true }))).toEqual(["4", "3", "2", "1", "0"]);
    });
  });

  describe("an index", () => {
    holds("holds only items with both of its attributes, by number, with what it projects", async () => {
      const index = freshName("LIST");
      const put = (n: number, fields: Item) => table().put({ pk: `${index}#${n}`, sk: "META", ...fields });
      await put(1, { listPk: index, listSk: 10, sessionKey: "ten", label: "l", inbox: ["secret"] });
      await put(2, { listPk: index, listSk: 9, sessionKey: "nine" });
      await put(3, { listPk: index });
      await put(4, { listSk: 1 });
      const found = await table().queryIndex({ index: "list", pk: index });
      expect(found).toEqual([
        { pk: `${index}#2`, sk: "META", listPk: index, listSk: 9, sessionKey: "nine" },
        { pk: `${index}#1`, sk: "META", listPk: index, listSk: 10, sessionKey: "ten", label: "l" },
      ]);
      const newest = await table().queryIndex({ index: "list", pk: index, descending: true, limit: 1 });
      expect(newest).toEqual(found.slice(1));
    });

    holds("drops an item whose attribute is removed, and takes up to a value", async () => {
      const index = freshName("DUE");
      const keys = [freshKey(), freshKey(), freshKey()];
      for (const [n, key] of keys.entries()) await table().put({ ...key, duePk: index, dueAt: n, more: n });
      const upTo = async (value: number) =>
        (await table().queryIndex({ index: "due", pk: index, upTo: value })).map(({ pk }) => pk);
      expect(await upTo(1)).toEqual([keys[0]!.pk, keys[1]!.pk]);
      await table().update(keys[0]!, [remove("duePk"), remove("dueAt")]);
      await table().update(keys[1]!, [set("dueAt", 5)]);
      expect(await upTo(4)).toEqual([keys[2]!.pk]);
      expect(await table().queryIndex({ index: "due", pk: index, upTo: 5 })).toEqual([
        { ...keys[2]!, duePk: index, dueAt: 2 },
        { ...keys[1]!, duePk: index, dueAt: 5 },
      ]);
    });

    holds("holds every item of one number, in an order that stays", async () => {
      const index = freshName("TIES");
      const keys = Array.from({ length: 5 }, freshKey);
      for (const key of keys) await table().put({ ...key, duePk: index, dueAt: 7 });
      const read = async (limit?: number, descending?: boolean) =>
        (await table().queryIndex({ index: "due", pk: index, limit, descending })).map(({ pk }) => pk);
      const all = await read();
      expect(all.toSorted()).toEqual(keys.map(({ pk }) => pk).toSorted());
      expect(await read(3)).toEqual(all.slice(0, 3));
      expect(await read(undefined, true)).toEqual(all.toReversed());
      await table().delete(keys[2]!);
      expect(await read()).toEqual(all.filter((pk) => pk !== keys[2]!.pk));
    });

    holds("is read page by page, and as a whole without a partition", async () => {
      const [first, second] = [freshName("PAGES"), freshName("PAGES")];
      const rows = Array.from({ length: 5 }, (_, n) => ({
        ...freshKey(),
        listSk: n % 2,
        sessionKey: `${n}`,
      }));
      for (const [n, row] of rows.entries()) await table().put({ ...row, listPk: n === 4 ? second : first });
      const pages: Item[][] = [[]];
      do {
        const after = pages.at(-1)?.at(-1);
        pages.push(await table().queryIndex({ index: "list", pk: first, limit: 2, after }));
      } while (pages.at(-1)!.length > 0);
      expect(pages.flat()).toEqual(await table().queryIndex({ index: "list", pk: first }));
      const all = await table().queryIndex({ index: "list" });
      const keys = all.filter(({ listPk }) => listPk === first || listPk === second).map(({ pk }) => pk);
      expect(keys.toSorted()).toEqual(rows.map(({ pk }) => pk).toSorted());
      expect(await table().queryIndex({ index: "list", limit: 3 })).toHaveLength(3);
    });

    holds("refuses to put an attribute that it cannot order by", () =>
      isRefused(table().put({ ...freshKey(), listPk: "L", listSk: "1" })),
    );

    holds("refuses to update an attribute to what it cannot order by", async () => {
      const key = await putFresh({});
      await isRefused(table().update(key, [set("dueAt", "soon")]));
    });
  });
}
