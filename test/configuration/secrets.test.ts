import * as v from "valibot";
import { beforeEach, describe, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { configurationSchema } from "../../shared/configuration/schema.ts";
import { secret } from "../../shared/configuration/secret.ts";
import { createSecretPaths } from "../../shared/configuration/secret-paths.ts";
import { type ConfigurationStore, openConfiguration } from "../../shared/configuration/store.ts";
import type { Secrets, Table } from "../../shared/world/world.ts";

/** The configuration's schema with a part that is declared nowhere else. */
const schema = v.strictObject({
  ...configurationSchema.entries,
  weather: v.optional(
    v.strictObject({
      place: v.optional(v.string()),
      accessKey: v.optional(secret()),
      stations: v.optional(v.record(v.string(), v.strictObject({ password: secret() }))),
    }),
  ),
});

let table: Table;
let stored: Map<string, string>;
let configuration: ConfigurationStore;

beforeEach(() => {
  table = createMemoryTable();
  stored = new Map();
  configuration = openConfiguration(table, secretsIn(stored), { schema });
});

function secretsIn(values: Map<string, string>): Secrets {
  return {
    get: async (path) => values.get(path),
    put: async (path, value) => void values.set(path, value),
    delete: async (path) => void values.delete(path),
  };
}

const overrides = async () => {
  const item = await table.get({ pk: "CONFIG", sk: "GLOBAL" });
  return JSON.parse(String(item?.overrides)) as unknown;
};

describe("a secret that is added to the schema alone", () => {
  it("is kept out of the table and put among the secrets", async () => {
    await configuration.set("weather.accessKey", "w-1");
    expect(await overrides()).toEqual({ weather: { accessKey: "***" } });
    expect([...stored]).toEqual([["weather.accessKey", "w-1"]]);
  });

  it("is masked in the whole configuration, in its part, and at its path", async () => {
    await configuration.set("weather", { place: "Utrecht", accessKey: "w-1" });
    const weather = { place: "Utrecht", accessKey: "***" };
    expect(await configuration.get()).toMatchObject({ config: { weather } });
    expect(await configuration.get("weather")).toEqual({ path: "weather", value: weather });
    expect(await configuration.get("weather.accessKey")).toEqual({ path: "weather.accessKey", value: "***" });
  });

  it("is masked even when the table holds it in the clear", async () => {
    const clear = JSON.stringify({ weather: { accessKey: "w-1", place: "Utrecht" } });
    await table.put({ pk: "CONFIG", sk: "GLOBAL", overrides: clear, version: 1 });
    expect(JSON.stringify(await configuration.get())).not.toContain("w-1");
  });

  it("is split out of the record that it is set with", async () => {
    await configuration.set("weather.stations", {
      roof: { password: "r-1" },
      shed: { password: "n-1" },
    });
    expect(await overrides()).toEqual({
      weather: { stations: { roof: { password: "***" }, shed: { password: "***" } } },
    });
    expect(Object.fromEntries(stored)).toEqual({
      "weather.stations.roof.password": "r-1",
      "weather.stations.shed.password": "n-1",
    });
  });

  it("stays what it is when its mask is written back", async () => {
    await configuration.set("weather", { accessKey: "w-1" });
    await configuration.set("weather", { place: "Utrecht", accessKey: "***" });
    expect(stored.get("weather.accessKey")).toBe("w-1");
    expect(await overrides()).toEqual({ weather: { place: "Utrecht", accessKey: "***" } });
  });

  it("is deleted with the part that it is in", async () => {
    await configuration.set("weather", { accessKey: "w-1", stations: { roof: { password: "r-1" } } });
    await configuration.set("weather.stations", null);
    expect([...stored.keys()]).toEqual(["weather.accessKey"]);
    await configuration.set("weather", null);
    expect([...stored.keys()]).toEqual([]);
    expect(await overrides()).toEqual({});
  });

  it("does not let an unknown setting in beside it", async () => {
    const attempt = configuration.set("weather", { accessKey: "w-1", acessKey: "w-2" });
    await expect(attempt).rejects.toMatchObject({ code: 400, message: "weather.acessKey: unknown key" });
    expect([...stored]).toEqual([]);
  });

  it("is unknown to a configuration whose schema does not declare it", async () => {
    const other = openConfiguration(table, secretsIn(stored));
    await expect(other.set("weather.accessKey", "w-1")).rejects.toMatchObject({ code: 400 });
    expect([...stored]).toEqual([]);
  });
});

describe("the secrets of a schema", () => {
  const text = v.string();

  it.each([
    ["an object", v.object({ key: secret(), name: text })],
    ["a strict object", v.strictObject({ key: secret(), name: text })],
    ["an optional field", v.strictObject({ key: v.optional(secret()), name: text })],
    ["a partial object", v.partial(v.strictObject({ key: secret(), name: text }))],
    ["a field with a further check", v.object({ key: v.pipe(secret(), v.maxLength(10)), name: text })],
    [
      "an object with a check",
      v.pipe(
        v.object({ key: secret(), name: text }),
        v.check(() => true),
      ),
    ],
    ["a nullable object", v.nullable(v.object({ key: v.nullish(secret()), name: text }))],
    ["a union", v.union([text, v.object({ name: text }), v.object({ key: secret() })])],
    [
      "a variant",
      v.variant("kind", [
        v.object({ kind: v.literal("a"), key: secret() }),
        v.object({ kind: v.literal("b"), name: text }),
      ]),
    ],
    ["an intersection", v.intersect([v.object({ key: secret() }), v.object({ name: text })])],
  ])("are found in %s", (_name, part) => {
    const paths = createSecretPaths(v.strictObject({ part }));
    expect(paths.includes(["part", "key"])).toBe(true);
    expect(paths.includes(["part", "name"])).toBe(false);
    expect(paths.includes(["part"])).toBe(false);
    expect(paths.mask({ part: { key: "k-1", name: "n" } })).toEqual({ part: { key: "***", name: "n" } });
  });

  it("are all values of a record of secrets, and nothing below them", () => {
    const paths = createSecretPaths(v.strictObject({ keys: v.record(text, secret()) }));
    expect(paths.includes(["keys", "any"])).toBe(true);
    expect(paths.includes(["keys", "any", "part"])).toBe(false);
    expect(paths.includes(["keys"])).toBe(false);
  });

  it.each([
    ["array", v.array(v.object({ key: secret() }))],
    ["tuple", v.tuple([text, secret()])],
    ["map", v.map(text, secret())],
    ["set", v.set(secret())],
    ["lazy", v.lazy(() => v.object({ key: secret() }))],
    ["object_with_rest", v.objectWithRest({ name: text }, secret())],
  ])("are refused at once in a schema of type %s, where no path names them", (type, part) => {
    expect(() => createSecretPaths(v.strictObject({ part }))).toThrow(
      `schema of type ${type} would be stored`,
    );
  });
});
