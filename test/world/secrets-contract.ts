import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Secrets } from "../../shared/world/world.ts";

/** What every store of secrets must do, for every implementation. */
export function describeSecrets(
  name: string,
  open: () => Promise<{ secrets: Secrets; close(): Promise<void> }>,
): void {
  describe(name, () => {
    let secrets: Secrets;
    let close: () => Promise<void>;
    beforeAll(async () => {
      ({ secrets, close } = await open());
    });
    afterAll(() => close());

    it("give back what was put, in any script, and the newest of two", async () => {
      await secrets.put("apiKeys.anthropic", "sk-1");
      expect(await secrets.get("apiKeys.anthropic")).toBe("sk-1");
      await secrets.put("apiKeys.anthropic", "sk-ключ ✓");
      expect(await secrets.get("apiKeys.anthropic")).toBe("sk-ключ ✓");
    });

    it("have none that was never put, or was deleted", async () => {
      await secrets.put("apiKeys.gone", "x");
      await secrets.delete("apiKeys.gone");
      await secrets.delete("apiKeys.gone");
      expect(await secrets.get("apiKeys.gone")).toBeUndefined();
      expect(await secrets.get("apiKeys.never")).toBeUndefined();
    });

    it("keep the secrets of deep paths apart", async () => {
      const paths = ["channels.slack.accounts.a.botToken", "channels.slack.accounts.b.botToken"];
      for (const path of paths) await secrets.put(path, path);
      for (const path of paths) expect(await secrets.get(path)).toBe(path);
    });

    it("refuse a secret above the 4 KB of a standard parameter", async () => {
      await secrets.put("apiKeys.long", "x".repeat(4096));
      await expect(secrets.put("apiKeys.long", "x".repeat(4097))).rejects.toThrow(/4096/);
    });
  });
}
