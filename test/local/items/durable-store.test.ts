import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type DurableStoreOptions, openDurableStore } from "../../../local/items/disk/durable-store.ts";
import type { ItemStore } from "../../../local/items/item-store.ts";
import { DamagedStoreError, StoreFolderError, StoreLockedError } from "../../../local/items/store-errors.ts";
import { tableOver } from "../../../local/world/local-table.ts";
import { set } from "../../../shared/world/expression.ts";
import type { Item } from "../../../shared/world/world.ts";

let root: string;
let dir: string;
let opened: ItemStore[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "gsv-store-"));
  dir = join(root, "table");
});

afterEach(async () => {
  for (const store of opened) await store.close();
  opened = [];
  await rm(root, { recursive: true });
});

async function open(options: Partial<DurableStoreOptions> = {}): Promise<ItemStore> {
  const store = await openDurableStore({ dir, ...options });
  opened.push(store);
  return store;
}

const reopen = async (options: Partial<DurableStoreOptions> = {}) => {
  await opened.pop()?.close();
  return open(options);
};
const all = (store: ItemStore) => [...store.all()];
const item = (n: number, fields: Item = {}) => ({
  pk: "P",
  sk: `I#${String(n).padStart(5, "0")}`,
  ...fields,
});
const put = async (store: ItemStore, ...numbers: number[]) => {
  for (const n of numbers) await tableOver(store).put(item(n));
};
const oneLine = (type: new () => Error, text: RegExp) =>
  expect.objectContaining({
    constructor: type,
    message: expect.stringMatching(new RegExp(`^(?=.*${text.source}).*$`)),
  });
const failsWith = (opening: Promise<unknown>, type: new () => Error, text: RegExp) =>
  expect(opening).rejects.toEqual(oneLine(type, text));

describe("a table on disk", () => {
  it.each([false, true])("is found again as it was left (fsync: %s)", async (fsync) => {
    const table = tableOver(await open({ fsync }));
    await table.put(item(1, { text: "größe 😀\n\u0000", list: [1, [null, true]], duePk: "D", dueAt: 2 }));
    await table.put(item(2, { duePk: "D", dueAt: 1 }));
    await table.put(item(3));
    await table.update(item(1), [set("n", -0.5)]);
    await table.delete(item(3));
    const before = all(opened[0]!);
    const again = await reopen({ fsync });
    expect(all(again)).toEqual(before);
    expect(before).toHaveLength(2);
    expect([...again.indexRange({ index: "due", pk: "D" })].map(({ dueAt }) => dueAt)).toEqual([1, 2]);
  });

  it("replaces a long log by a snapshot, while writes go on", async () => {
    const store = await open({ logBytes: 50_000 });
    const text = "x".repeat(1000);
    await Promise.all(
      Array.from({ length: 600 }, (_, n) =>
        tableOver(store).put(item(n % 200, { n, text, listPk: "L", listSk: n })),
      ),
    );
    await tableOver(store).delete(item(7));
    const before = all(store);
    await reopen();
    expect(all(opened[0]!)).toEqual(before);
    expect(before).toHaveLength(199);
    const files = (await readdir(dir)).filter((name) => !name.startsWith("lock-")).sort();
    expect(files).toEqual([expect.stringMatching(/^log-[2-9]/), expect.stringMatching(/^snapshot-[2-9]/)]);
  });

  it("keeps what was written while a snapshot cannot be written, and says so", async () => {
    const faults: unknown[] = [];
    const store = await open({ logBytes: 100, onError: (error) => faults.push(error) });
    const inTheWay = join(dir, "snapshot-2");
    await mkdir(inTheWay);
    await put(store, ...Array.from({ length: 20 }, (_, n) => n));
    await expect.poll(() => faults.length).toBeGreaterThan(0);
    expect(faults[0]).toEqual(oneLine(StoreFolderError, /snapshot-2/));
    await rm(inTheWay, { recursive: true });
    await put(store, 20);
    expect(all(await reopen())).toHaveLength(21);
  });

  it("leaves out a last change that was cut off, and goes on behind the one before", async () => {
    await put(await open(), 1, 2);
    await opened.pop()?.close();
    const log = join(dir, "log-1");
    const { length } = await readFile(log);
    await truncate(log, length - 3);
    const store = await open();
    expect(all(store)).toEqual([item(1)]);
    await put(store, 3);
    expect(all(await reopen())).toEqual([item(1), item(3)]);
  });

  it("is not opened when a change in the middle is damaged, and says what to do", async () => {
    await put(await open(), 1, 2, 3);
    await opened.pop()?.close();
    const log = join(dir, "log-1");
    const lines = (await readFile(log, "utf8")).split("\n");
    await writeFile(log, [lines[0], lines[1]!.replace("I#", "J#"), ...lines.slice(2)].join("\n"));
    await failsWith(open(), DamagedStoreError, /log-1 is damaged at line 2: .*backup.*delete that line/);
    await writeFile(log, [lines[0], ...lines.slice(2)].join("\n"));
    expect(all(await open())).toEqual([item(1), item(3)]);
  });

  it("is not opened when a snapshot is cut off or a log is missing", async () => {
    await put(await open({ logBytes: 100 }), 1, 2, 3);
    await opened.pop()?.close();
    const name = (await readdir(dir)).find((one) => one.startsWith("snapshot-"))!;
    const snapshot = await readFile(join(dir, name), "utf8");
    await writeFile(join(dir, name), snapshot.split("\n").slice(0, -2).join("\n"));
    await failsWith(open(), DamagedStoreError, /snapshot-\d+ is cut off/);
    await rm(join(dir, name));
    await failsWith(open(), DamagedStoreError, /log-1 is missing/);
  });

  it("ignores a snapshot that was not finished, and files that a snapshot replaced", async () => {
    await put(await open(), 1);
    await opened.pop()?.close();
    await writeFile(join(dir, "snapshot-2.tmp"), "half");
    expect(all(await open({ logBytes: 100 }))).toEqual([item(1)]);
    await put(opened[0]!, 2, 3, 4);
    await opened.pop()?.close();
    await appendFile(join(dir, "log-1"), "left over");
    expect(all(await open())).toEqual([1, 2, 3, 4].map((n) => item(n)));
    expect(await readdir(dir)).not.toContain("log-1");
  });

  it("takes no changes after it was closed", async () => {
    const store = await open();
    await store.close();
    await expect(put(store, 1)).rejects.toThrow("closed");
  });

  it("loses its expired items at the start and then again and again, and no others", async () => {
    const now = Math.floor(Date.now() / 1000);
    const store = await open();
    const table = tableOver(store);
    await table.put(item(1, { expiresAt: now - 10 }));
    await table.put(item(2, { expiresAt: now + 1000 }));
    await table.put(item(3, { expiresAt: "never" }));
    const again = await reopen({ expiryMs: 5 });
    await expect.poll(() => all(again).map(({ sk }) => sk)).toEqual([item(2).sk, item(3).sk]);
    await tableOver(again).put(item(4, { expiresAt: now - 10 }));
    await expect.poll(() => again.get(item(4))).toBeUndefined();
    expect(all(await reopen())).toHaveLength(2);
  });
});

describe("the folder of a table", () => {
  it("belongs to one store, until that is closed", async () => {
    const store = await open();
    await failsWith(
      openDurableStore({ dir }),
      StoreLockedError,
      new RegExp(`in use by the process ${process.pid}`),
    );
    await put(store, 1);
    await store.close();
    expect(all(await open())).toEqual([item(1)]);
  });

  it("goes to exactly one of several that open it at the same time", async () => {
    const tries = await Promise.allSettled(Array.from({ length: 4 }, () => openDurableStore({ dir })));
    const won = tries.filter((one) => one.status === "fulfilled");
    for (const { value } of won) opened.push(value);
    expect(won.length).toBeLessThanOrEqual(1);
    for (const one of tries)
      if (one.status === "rejected") expect(one.reason).toBeInstanceOf(StoreLockedError);
  });

  it("may have a path that is too long for a socket, and is locked under every name it has", async () => {
    dir = join(root, "long".repeat(30), "table");
    await open();
    await failsWith(openDurableStore({ dir }), StoreLockedError, /in use/);
    await symlink(dir, join(root, "other"));
    await failsWith(openDurableStore({ dir: join(root, "other") }), StoreLockedError, /in use/);
  });

  it("that cannot be made is said in one line", async () => {
    await writeFile(join(root, "file"), "");
    const below = join(root, "file", "table");
    await failsWith(
      openDurableStore({ dir: below }),
      StoreFolderError,
      /file\/table: part of its path is a file/,
    );
    await failsWith(
      openDurableStore({ dir: join(root, "file") }),
      StoreFolderError,
      /it is a file, not a folder/,
    );
  });
});
