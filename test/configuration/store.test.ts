import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { type ConfigurationStore, openConfiguration } from "../../shared/configuration/store.ts";
import type { Secrets, Table } from "../../shared/world/world.ts";
import { observed, type State, startState } from "../support/state.ts";

let state: State;
let secrets: Secrets;
let configuration: ConfigurationStore;
const clock = { now: 0 };
const item = { pk: "CONFIG", sk: "GLOBAL" };

beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());
beforeEach(async () => {
  await state.table.delete(item);
  secrets = state.openSecrets(`/gsv/${randomUUID()}`);
  configuration = openConfiguration(state.table, secrets, { now: () => clock.now });
});

const valueFor = async (path: string) => ((await configuration.get(path)) as { value: unknown }).value;
const stored = async () => String((await state.table.get(item))?.overrides);
const refused = (code: number, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

describe("a setting of an earlier release", () => {
  const embeddings = { provider: "amazon-bedrock", model: "m", apiKey: "***" };

  it("is ignored, does not prevent other changes, and goes with its secret at the next one", async () => {
    const overrides = JSON.stringify({ memory: { embeddings, tool: false }, userTimezone: "Europe/Berlin" });
    await state.table.put({ ...item, overrides, version: 3 });
    await secrets.put("memory.embeddings.apiKey", "key");
    expect((await configuration.load()).memory).toEqual({ ...defaults.memory, tool: false });
    await configuration.set("session.mainKey", "home");
    expect(JSON.parse(await stored())).toEqual({
      ...{ memory: { tool: false }, userTimezone: "Europe/Berlin", session: { mainKey: "home" } },
    });
    expect(await secrets.get("memory.embeddings.apiKey")).toBeUndefined();
  });

  it("is refused with the reason, and may be unset", async () => {
    for (const path of ["memory.embeddings", "memory.embeddings.model"])
      await expect(configuration.set(path, "m")).rejects.toEqual(
        refused(400, /search needs no embedding model/),
      );
    await configuration.set("memory.embeddings", null);
    expect(await configuration.get()).toEqual({ config: defaults });
  });
});

describe("the model of a gateway that was deployed with one", () => {
  const model = { provider: "openai", id: "gpt-5.2" };

  it("is used until the owner sets another, and again afterwards", async () => {
    const deployed = openConfiguration(state.table, secrets, { now: () => clock.now, model });
    expect((await deployed.load({ fresh: true })).model).toEqual(model);
    await deployed.set("model.id", "other");
    expect((await deployed.load({ fresh: true })).model).toEqual({ ...model, id: "other" });
    await deployed.set("model", null);
    expect(await deployed.get("model.id")).toMatchObject({ value: "gpt-5.2" });
  });
});

describe("reading the configuration", () => {
  it("gives the defaults when nothing is set", async () => {
    expect(await configuration.get()).toEqual({ config: defaults });
    expect(await configuration.load()).toEqual(defaults);
  });

  it("gives one value by its path, null where nothing is set, and 400 for what is not a path", async () => {
    expect(await configuration.get("session.mainKey")).toEqual({ path: "session.mainKey", value: "main" });
    expect(await configuration.get("model.baseUrl")).toEqual({ path: "model.baseUrl", value: null });
    expect(await configuration.get("toString")).toEqual({ path: "toString", value: null });
    await expect(configuration.get("a..b")).rejects.toEqual(refused(400, /not a configuration path/));
  });

  it("is done once in five seconds, and at once after a change of one's own or on demand", async () => {
    const table = observed(state.table);
    const reader = openConfiguration(table, secrets, { now: () => clock.now });
    await reader.load();
    await configuration.set("systemPrompt", "by another function");
    clock.now += 4999;
    expect((await reader.load()).systemPrompt).toBe(defaults.systemPrompt);
    expect(table.reads).toBe(1);
    expect((await reader.load({ fresh: true })).systemPrompt).toBe("by another function");
    await configuration.set("systemPrompt", "once more");
    clock.now += 5000;
    expect((await reader.load()).systemPrompt).toBe("once more");
    await reader.set("systemPrompt", "own");
    expect((await reader.load()).systemPrompt).toBe("own");
  });
});

describe("a configuration of at least a version", () => {
  it("is read again only where an older one is kept", async () => {
    const table = observed(state.table);
    const reader = openConfiguration(table, secrets, { now: () => clock.now });
    await reader.load();
    const version = reader.version() ?? 0;
    await reader.load({ atLeast: version });
    expect(table.reads).toBe(1);
    await configuration.set("systemPrompt", "newer");
    expect((await reader.load({ atLeast: version + 1 })).systemPrompt).toBe("newer");
    expect([reader.version(), table.reads]).toEqual([version + 1, 2]);
  });

  it("stays when an older read ends after a newer one, until it is read again", async () => {
    const answers: (() => Promise<void>)[] = [];
    const slow = {
      ...state.table,
      get: (...args: Parameters<Table["get"]>) => {
        const item = state.table.get(...args);
        return new Promise<Awaited<typeof item>>((resolve) => {
          answers.push(async () => resolve(await item));
        });
      },
    };
    const reader = openConfiguration(slow, secrets, { now: () => clock.now });
    await configuration.set("systemPrompt", "old");
    const older = reader.load();
    await configuration.set("systemPrompt", "new");
    const newer = reader.load({ fresh: true });
    await answers[1]?.();
    expect((await newer).systemPrompt).toBe("new");
    await answers[0]?.();
    expect((await older).systemPrompt).toBe("new");
    expect((await reader.load({ anyAge: true })).systemPrompt).toBe("new");
    // A table that was restored from a backup has a lower version.
    await state.table.delete({ pk: "CONFIG", sk: "GLOBAL" });
    const restored = reader.load({ fresh: true });
    await answers[2]?.();
    expect((await restored).systemPrompt).toBe(defaults.systemPrompt);
  });
});

describe("setting a value", () => {
  it("keeps it for every function, over the defaults", async () => {
    expect(await configuration.set("session.dmScope", "per-peer")).toEqual({
      ok: true,
      path: "session.dmScope",
    });
    const other = openConfiguration(state.table, secrets);
    expect((await other.load()).session).toEqual({ ...defaults.session, dmScope: "per-peer" });
    expect(JSON.parse(await stored())).toEqual({ session: { dmScope: "per-peer" } });
  });

  it("replaces what was set before at its path, lists included", async () => {
    await configuration.set("agents.list", [{ id: "one" }, { id: "two" }]);
    await configuration.set("agents.list", [{ id: "three" }]);
    expect(await valueFor("agents.list")).toEqual([{ id: "three" }]);
    await configuration.set('skills.entries["my.skill"].enabled', false);
    expect(await valueFor("skills.entries")).toEqual({ "my.skill": { enabled: false } });
  });

  it.each([null, undefined])("to %s lets the default hold again", async (value) => {
    await configuration.set("session.mainKey", "home");
    await configuration.set("session.mainKey", value);
    expect(await valueFor("session.mainKey")).toBe("main");
    expect(await stored()).toBe("{}");
  });

  it.each([
    ["sesion.mainKey", "x", /^sesion: unknown key/],
    ["session.mainKey", 5, /^session\.mainKey: expected string/],
    ["session.mainKey.deeper", "x", /^session\.mainKey: expected string/],
    ["agents.list.0.id", "x", /^agents\.list: expected Array/],
    ["apiKeys.anthropic.key", "sk-1", /^apiKeys\.anthropic: expected string/],
    ["apiKeys", { anthropic: null }, /^apiKeys\.anthropic: expected string/],
    ["session", JSON.parse('{"__proto__":{"dmScope":"x"}}'), /^session: the name __proto__/],
    ["__proto__.polluted", true, /__proto__ is not allowed/],
    ["model", "openai/gpt", /^model: expected Object/],
    [
      "channels.telegram.accounts.default",
      { botToken: "t", unknown: 1 },
      /^channels\.telegram\.accounts\.default\.unknown: unknown key/,
    ],
  ])("that is not valid, %s = %j, is refused with 400 and changes nothing", async (path, value, message) => {
    await expect(configuration.set(path, value)).rejects.toEqual(refused(400, message));
    expect(await state.table.get(item)).toBeUndefined();
    expect(await secrets.get("channels.telegram.accounts.default.botToken")).toBeUndefined();
    expect(await secrets.get("apiKeys.anthropic")).toBeUndefined();
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("that would make the configuration too large for its item is refused with 413", async () => {
    const names = (prefix: string) =>
      Array.from({ length: 1000 }, (_, i) => `${prefix}${i}${"x".repeat(240)}`);
    await configuration.set("channels.telegram.allowFrom", names("a"));
    await expect(configuration.set("channels.whatsapp.allowFrom", names("b"))).rejects.toEqual(
      refused(413, /larger than/),
    );
    expect(await valueFor("channels.whatsapp")).toBeNull();
  });

  it("by twenty writers at once loses none of the values", async () => {
    const writers = Array.from({ length: 20 }, (_, i) => async () => {
      const own = openConfiguration(state.table, secrets);
      for (;;) {
        try {
          return await own.set(`skills.entries.s${i}.enabled`, true);
        } catch (error) {
          expect(error).toEqual(refused(409, /at the same time/));
        }
      }
    });
    await Promise.all(writers.map((write) => write()));
    expect(Object.keys((await valueFor("skills.entries")) as object)).toHaveLength(20);
  });

  it("gives up with a retryable 409 when others are faster every time", async () => {
    let turn = 0;
    const table = observed(state.table, async () => {
      await configuration.set("systemPrompt", `other ${turn++}`);
    });
    const slow = openConfiguration(table, secrets);
    await expect(slow.set("userTimezone", "Europe/Berlin")).rejects.toMatchObject({
      code: 409,
      retryable: true,
    });
    expect(await valueFor("userTimezone")).toBe("UTC");
  });
});

describe("secrets", () => {
  const botToken = "channels.telegram.accounts.default.botToken";

  it.each([
    "apiKeys.anthropic",
    "auth.token",
    "transcription.apiKey",
    botToken,
    "channels.slack.accounts.work.signingSecret",
  ])("at %s go to the parameter store and are masked in every answer", async (path) => {
    await configuration.set(path, "sk-secret");
    expect(await secrets.get(path)).toBe("sk-secret");
    expect(await valueFor(path)).toBe("***");
    const seen = [await configuration.get(), await configuration.load(), await state.table.get(item)];
    expect(JSON.stringify(seen)).not.toContain("sk-secret");
    expect(JSON.stringify(seen[0])).toContain("***");
  });

  it("inside of an object that is set are split out of it", async () => {
    await configuration.set("channels.telegram", {
      dmPolicy: "allowlist",
      accounts: { default: { botToken: "t-1", apiBaseUrl: "http://127.0.0.1:1" } },
    });
    await configuration.set("apiKeys", { anthropic: "k-1", openai: "k-2" });
    expect(await secrets.get(botToken)).toBe("t-1");
    expect(await secrets.get("apiKeys.openai")).toBe("k-2");
    expect(await valueFor("channels.telegram")).toEqual({
      dmPolicy: "allowlist",
      accounts: { default: { botToken: "***", apiBaseUrl: "http://127.0.0.1:1" } },
    });
    expect(await stored()).not.toMatch(/t-1|k-1|k-2/);
  });

  it("are kept when what was read is written back", async () => {
    await configuration.set("apiKeys.anthropic", "k-1");
    await configuration.set(botToken, "t-1");
    for (const path of ["apiKeys", "channels", "apiKeys.anthropic"])
      await configuration.set(path, await valueFor(path));
    expect(await secrets.get("apiKeys.anthropic")).toBe("k-1");
    expect(await secrets.get(botToken)).toBe("t-1");
    expect(await valueFor("apiKeys")).toEqual({ anthropic: "***" });
    expect(await valueFor(botToken)).toBe("***");
  });

  it("that are not set do not become set by writing the mask", async () => {
    await configuration.set("apiKeys.anthropic", "***");
    await configuration.set("apiKeys", { openai: "***" });
    expect(await valueFor("apiKeys")).toEqual({});
    expect(await secrets.get("apiKeys.openai")).toBeUndefined();
  });

  it("are deleted from the parameter store when they, or the object around them, are reset", async () => {
    await configuration.set("apiKeys", { anthropic: "k-1", openai: "k-2" });
    await configuration.set(botToken, "t-1");
    await configuration.set("apiKeys.anthropic", null);
    await configuration.set("channels", null);
    expect(await secrets.get("apiKeys.anthropic")).toBeUndefined();
    expect(await secrets.get("apiKeys.openai")).toBe("k-2");
    expect(await secrets.get(botToken)).toBeUndefined();
    expect(await valueFor("apiKeys")).toEqual({ openai: "***" });
    expect(await valueFor("channels")).toEqual({});
  });

  it("that a replaced object no longer names are deleted", async () => {
    await configuration.set("apiKeys", { anthropic: "k-1", openai: "k-2" });
    await configuration.set("apiKeys", { openai: "***" });
    expect(await secrets.get("apiKeys.anthropic")).toBeUndefined();
    expect(await secrets.get("apiKeys.openai")).toBe("k-2");
  });

  it("that an interrupted change left without a marker are deleted when they are reset", async () => {
    await secrets.put("apiKeys.anthropic", "left behind");
    await configuration.set("apiKeys.anthropic", null);
    expect(await secrets.get("apiKeys.anthropic")).toBeUndefined();
  });

  it("are those of the writer whose marker is stored, when a setting and a reset meet", async () => {
    await configuration.set("apiKeys.anthropic", "first");
    let interrupted = false;
    const table = observed(state.table, async () => {
      if (interrupted) return;
      interrupted = true;
      await configuration.set("apiKeys.anthropic", null);
    });
    await openConfiguration(table, secrets).set("apiKeys.anthropic", "second");
    expect(await valueFor("apiKeys.anthropic")).toBe("***");
    expect(await secrets.get("apiKeys.anthropic")).toBe("second");
  });
});
