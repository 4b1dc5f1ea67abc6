import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestWorld, worlds } from "./worlds.ts";

describe.each(worlds)("the secrets of %s", (_name, open) => {
  let test: TestWorld;
  beforeAll(async () => {
    test = await open();
  });
  afterAll(() => test.close());

  it("give back what was put, in any script, and the newest of two", async () => {
    const { secrets } = test.world;
    await secrets.put("apiKeys.anthropic", "sk-1");
    expect(await secrets.get("apiKeys.anthropic")).toBe("sk-1");
    await secrets.put("apiKeys.anthropic", "sk-ключ ✓");
    expect(await secrets.get("apiKeys.anthropic")).toBe("sk-ключ ✓");
  });

  it("have none that was never put, or was deleted", async () => {
    const { secrets } = test.world;
    await secrets.put("apiKeys.gone", "x");
    await secrets.delete("apiKeys.gone");
    await secrets.delete("apiKeys.gone");
    expect(await secrets.get("apiKeys.gone")).toBeUndefined();
    expect(await secrets.get("apiKeys.never")).toBeUndefined();
  });

  it("keep the secrets of deep paths apart", async () => {
    const { secrets } = test.world;
    const paths = ["channels.slack.accounts.a.botToken", "channels.slack.accounts.b.botToken"];
    for (const path of paths) await secrets.put(path, path);
    for (const path of paths) expect(await secrets.get(path)).toBe(path);
  });

  it("refuse a secret above the 4 KB of a standard parameter", async () => {
    await test.world.secrets.put("apiKeys.long", "x".repeat(4096));
    await expect(test.world.secrets.put("apiKeys.long", "x".repeat(4097))).rejects.toThrow(/4096/);
  });
});
