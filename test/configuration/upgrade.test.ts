import { describe, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import {
  continueUpgrade,
  decideUpgrade,
  readUpgrade,
  watchUpgrade,
} from "../../shared/configuration/upgrade.ts";
import { set } from "../../shared/world/expression.ts";
import { configurationKey, openFormatted, storageFormat } from "../../shared/world/stored-format.ts";
import type { Secrets, Table } from "../../shared/world/world.ts";

const minute = 60_000;
const day = 24 * 60 * minute;
const start = Date.parse("2026-11-24T12:00:00Z");
const previous = storageFormat - 1;
const secrets = {} as Secrets;

/** A table that the previous release has used. */
async function usedTable(): Promise<Table> {
  const table = createMemoryTable();
  await table.put({ ...configurationKey, overrides: "{}", version: 3 });
  return table;
}

/** A turn in a session, as either release stores it during an upgrade. */
const turn = (table: Table, at: number) =>
  table.update({ pk: "S#a", sk: "META" }, [set("listPk", "SESSION"), set("listSk", at)]);

/** Sweeps once a minute, as the timer does. */
async function sweepFor(table: Table, from: number, ms: number): Promise<number> {
  for (let at = from; at <= from + ms; at += minute) await continueUpgrade(table, at);
  return from + ms;
}

const minReader = async (table: Table) => (await readUpgrade(table)).minReader;

describe("an upgrade", () => {
  it("is finished at once in a new table, whose configuration can still be changed", async () => {
    const table = createMemoryTable();
    expect(await continueUpgrade(table, start)).toBe(true);
    expect(await minReader(table)).toBe(storageFormat);
    const configuration = openConfiguration(table, secrets);
    await configuration.set("userTimezone", "Europe/Berlin");
    expect((await configuration.load({ fresh: true })).userTimezone).toBe("Europe/Berlin");
  });

  it("is finished a day after its first sweep", async () => {
    const table = await usedTable();
    const end = await sweepFor(table, start, day - minute);
    await turn(table, end);
    expect(await readUpgrade(table)).toMatchObject({
      ...{ format: storageFormat, minReader: previous, since: start, finishesAt: start + day },
    });
    expect(await continueUpgrade(table, end + minute)).toBe(true);
    expect(await minReader(table)).toBe(storageFormat);
  });

  it("begins again when an older release was used meanwhile", async () => {
    const table = await usedTable();
    const rollback = await sweepFor(table, start, 60 * minute);
    await turn(table, rollback + 10 * minute);
    const again = rollback + 20 * minute;
    await sweepFor(table, again, day - minute);
    expect(await readUpgrade(table)).toMatchObject({ minReader: previous, since: again });
    expect(await continueUpgrade(table, again + day)).toBe(true);
  });

  it("can be held by the operator, and finished", async () => {
    const table = await usedTable();
    await decideUpgrade(table, "hold");
    expect(await continueUpgrade(table, start)).toBe(false);
    expect(await continueUpgrade(table, start + 2 * day)).toBe(false);
    expect(await readUpgrade(table)).not.toHaveProperty("finishesAt");
    await decideUpgrade(table, "finish");
    expect(await minReader(table)).toBe(storageFormat);
  });

  it("costs nothing once it is finished", async () => {
    const table = createMemoryTable();
    let reads = 0;
    const get: Table["get"] = async (key) => {
      reads += 1;
      return table.get(key);
    };
    const sweep = watchUpgrade({ table: { ...table, get }, now: () => start });
    for (let i = 0; i < 3; i++) await sweep();
    expect(reads).toBe(1);
  });

  it("is left to a newer release that has begun one", async () => {
    const table = await usedTable();
    const begun = [set("format", storageFormat + 1), set("minReader", previous)];
    await table.update(configurationKey, begun);
    await continueUpgrade(table, start);
    await decideUpgrade(table, "finish");
    expect(await table.get(configurationKey)).toMatchObject({
      format: storageFormat + 1,
      minReader: previous,
    });
  });
});

describe("a table that is opened with a format", () => {
  const key = { pk: "S#a", sk: "META" };
  const shards = { listPk: "SESSION#7", duePk: "DUE#7", label: "room #7" };

  it("stores what the previous release reads, until the upgrade is finished", async () => {
    const plain = await usedTable();
    const table = openFormatted(plain);
    const write = async () => {
      await table.put({ ...key, ...shards });
      const put = await plain.get(key);
      await table.update(
        key,
        Object.entries(shards).map(([name, value]) => set(name, value)),
      );
      return [put, await plain.get(key)];
    };
    const readable = { ...key, ...shards, listPk: "SESSION", duePk: "DUE" };
    expect(await write()).toEqual([readable, readable]);
    await table.get(configurationKey);
    expect(await write()).toEqual([readable, readable]);
    await decideUpgrade(plain, "finish");
    await table.get(configurationKey);
    expect(await write()).toEqual([
      { ...key, ...shards },
      { ...key, ...shards },
    ]);
  });

  it("refuses what only a newer release reads, in one sentence", async () => {
    const plain = await usedTable();
    await plain.update(configurationKey, [set("minReader", storageFormat + 1)]);
    const configuration = openConfiguration(openFormatted(plain), secrets);
    await expect(configuration.load()).rejects.toThrow(
      `a newer version of gsv has written this data (storage format ${storageFormat + 1}; this version reads ${storageFormat}): use that version again`,
    );
  });
});
