import { statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { configureModel } from "../../../cli/gateway/local-gateway.ts";
import type { Dev } from "../../../local/dev/dev.ts";
import { chooseModel, defaultModels } from "../../../local/dev/dev-model.ts";
import {
  type ModelSettings,
  readGatewayFile,
  runningGateway,
  writeGatewayFile,
} from "../../../local/dev/dev-state.ts";
import { formatPath } from "../../../shared/configuration/configuration-paths.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import { occupyPort } from "../../local/kept-port.ts";
import { newFolder } from "../../support/run/test-folders.ts";

describe("the model that the environment selects", () => {
  it.each(Object.entries(defaultModels))(
    "is in the catalogue of %s when none is named",
    async (provider, id) => {
      const catalogue: Record<string, Record<string, unknown>> = await import(
        `@earendil-works/pi-ai/providers/${provider}.models`
      );
      expect(Object.values(catalogue).some((models) => id in models)).toBe(true);
    },
  );

  it.each([
    [{}, undefined],
    [{ ANTHROPIC_API_KEY: "k" }, { provider: "anthropic", id: defaultModels.anthropic }],
    [
      { OPENAI_API_KEY: "k", GSV_MODEL: "gpt-x" },
      { provider: "openai", id: "gpt-x" },
    ],
    [{ GEMINI_API_KEY: "k" }, { provider: "google", id: defaultModels.google }],
    [{ OPENROUTER_API_KEY: "k" }, { provider: "openrouter", id: defaultModels.openrouter }],
    [
      { GSV_MODEL_BASE_URL: "http://127.0.0.1:1/v1", GSV_MODEL: "m", OPENAI_API_KEY: "k" },
      { provider: "openai-compatible", id: "m", baseUrl: "http://127.0.0.1:1/v1" },
    ],
  ])("follows from %j", (env, settings) => {
    expect(chooseModel(env)?.settings).toEqual(settings);
  });

  it.each([
    [{ GSV_MODEL: "m" }, /without GSV_MODEL_BASE_URL/],
    [{ GSV_MODEL_BASE_URL: "http://127.0.0.1:1/v1" }, /without GSV_MODEL;/],
    [{ GSV_MODEL_BASE_URL: "nowhere", GSV_MODEL: "m" }, /is not a url/],
  ])("is refused for %j", (env, message) => {
    expect(() => chooseModel(env)).toThrow(message);
  });

  it("reads the key of a server only from its own variable", () => {
    const env = { GSV_MODEL_BASE_URL: "http://127.0.0.1:1/v1", GSV_MODEL: "m", OPENAI_API_KEY: "k" };
    expect(chooseModel(env)).not.toHaveProperty("apiKey");
    expect(chooseModel({ ...env, GSV_MODEL_API_KEY: "own" })?.apiKey).toBe("own");
  });
});

describe("the configured model of a local gateway", () => {
  let model: ModelSettings;
  let recorded: ModelSettings | undefined;
  let written: [path: string, value: unknown][];
  let budgets: typeof defaults.budgets;
  const offline = { provider: "openai-compatible", id: "offline", baseUrl: "http://127.0.0.1:2/v1" };
  const mine = { provider: "anthropic", id: "mine" };

  beforeEach(() => {
    [recorded, model, written, budgets] = [undefined, defaults.model, [], defaults.budgets];
  });
  const configuration: Pick<Dev["configuration"], "load" | "set"> = {
    load: async () => ({ ...defaults, model, budgets }),
    async set(path, value) {
      written.push([path, value]);
      if (path === "model") model = value as ModelSettings;
      return { ok: true, path };
    },
  };
  const configure = (env: Record<string, string>, lastWritten?: ModelSettings) => {
    const dev = {
      model: lastWritten,
      configuration,
      offlineModel: async () => offline,
      recordModel: async (settings: ModelSettings) => {
        recorded = settings;
      },
    };
    return configureModel(dev as unknown as Dev, chooseModel(env));
  };

  it("is the offline model when there is no other, and is remembered as such and free", async () => {
    await configure({});
    expect(model).toEqual(offline);
    expect(recorded).toEqual(offline);
    const free = { input: 0, output: 0 };
    expect(written).toContainEqual(["budgets.prices.openai-compatible/offline", free]);
  });

  it.each([
    ["http://127.0.0.1:1/v1", undefined, true],
    ["http://[::1]:1/v1", undefined, true],
    ["http://192.168.1.20:11434/v1", undefined, true],
    ["http://ollama:11434/v1", undefined, true],
    ["http://studio.local:1234/v1", undefined, true],
    ["http://8.8.8.8/v1", undefined, false],
    ["http://127.0.0.1:1/v1", "a key", false],
    ["https://models.example/v1", undefined, false],
  ])("is free at %s with the key %s: %s", async (GSV_MODEL_BASE_URL, key, isFree) => {
    const env = { GSV_MODEL_BASE_URL, GSV_MODEL: "qwen3", ...(key ? { GSV_MODEL_API_KEY: key } : {}) };
    const { because } = await configure(env);
    const paths = written.map(([path]) => path);
    expect(paths.includes(formatPath(["budgets", "prices", GSV_MODEL_BASE_URL]))).toBe(isFree);
    expect(because.endsWith("counted as free")).toBe(isFree);
  });

  it("follows the offline model to its new address", async () => {
    model = { ...offline, baseUrl: "http://127.0.0.1:1/v1" };
    await configure({}, model);
    expect(model).toEqual(offline);
  });

  it("becomes a provider's when its key appears, and remains when the key is gone", async () => {
    model = offline;
    await configure({ ANTHROPIC_API_KEY: "k" }, offline);
    expect(model).toEqual({ provider: "anthropic", id: defaultModels.anthropic });
    expect(written).toContainEqual(["apiKeys.anthropic", "k"]);
    await configure({}, model);
    expect(model.provider).toBe("anthropic");
  });

  it("remains the user's own, no matter which keys exist, unless the environment names a model", async () => {
    model = mine;
    await configure({}, offline);
    await configure({ OPENAI_API_KEY: "k" }, offline);
    expect(model).toEqual(mine);
    expect(recorded).toBeUndefined();
    await configure({ OPENAI_API_KEY: "k", GSV_MODEL: "gpt-x" }, offline);
    expect(model).toEqual({ provider: "openai", id: "gpt-x" });
  });

  it("is not written when it is already right", async () => {
    model = offline;
    const prices = { "openai-compatible/offline": { input: 1, output: 1 } };
    budgets = { ...defaults.budgets, prices };
    await configure({}, offline);
    expect(written).toEqual([]);
  });
});

describe("gateway.json", () => {
  it("can be read only by its owner", async () => {
    const dir = join(newFolder(), "data");
    await writeGatewayFile(dir, { url: "ws://127.0.0.1:1/ws", token: "t" });
    expect(statSync(join(dir, "gateway.json")).mode & 0o777).toBe(0o600);
    expect(await readGatewayFile(dir)).toEqual({ url: "ws://127.0.0.1:1/ws", token: "t" });
  });

  it.each(["", "{", "[]", '{"url":1}'])("counts as absent when it is damaged: %j", async (content) => {
    const dir = newFolder();
    writeFileSync(join(dir, "gateway.json"), content);
    expect(await readGatewayFile(dir)).toBeUndefined();
  });

  it("reports a running gateway only when its process lives and its address answers", async () => {
    const dir = newFolder();
    const server = createServer();
    const port = await occupyPort(server);
    const file = { url: `ws://127.0.0.1:${port}/ws`, token: "t" };
    await writeGatewayFile(dir, { ...file, pid: process.pid });
    expect(await runningGateway(dir)).toMatchObject({ pid: process.pid });
    await writeGatewayFile(dir, { ...file, pid: 2 ** 30 });
    expect(await runningGateway(dir)).toBeUndefined();
    await writeGatewayFile(dir, file);
    expect(await runningGateway(dir)).toBeUndefined();
    await new Promise((resolve) => server.close(resolve));
    await writeGatewayFile(dir, { ...file, pid: process.pid });
    expect(await runningGateway(dir)).toBeUndefined();
  });
});
