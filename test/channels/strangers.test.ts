import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { imageBytes } from "../support/images.ts";
import type { SharedFile } from "../support/platforms/platform-server.ts";
import { type Platform, platformNames } from "../support/platforms/platforms.ts";
import { startTurnBench, type TurnBench } from "./turn-bench.ts";

/** Ways in which neither Ann nor the room has access, and the notice that they receive. */
const states: Record<string, { settings: object; isStopped?: boolean; told?: string }> = {
  "nobody was let in yet": { settings: {} },
  "the list is empty": { settings: { dmPolicy: "allowlist", allowFrom: [] } },
  "only somebody else is on the list": { settings: { dmPolicy: "allowlist", allowFrom: ["42"] } },
  "strangers may ask": {
    settings: { dmPolicy: "pairing", allowFrom: ["42"] },
    told: "You don't have access yet. We kept your message and will answer once you are approved.",
  },
  "the account was stopped": { settings: { dmPolicy: "open" }, isStopped: true },
};

const texts = ["hello", "/status", "/reset", "/model openai/gpt-5", "/stop", "why? /status"];
const picture: SharedFile = { name: "a.jpg", type: "image/jpeg", bytes: imageBytes("image/jpeg") };

describe.each(platformNames)("a stranger on %s", (name) => {
  let platform: Platform;
  let bench: TurnBench;

  beforeAll(async () => {
    ({ platform, bench } = await startTurnBench(name));
  });
  afterAll(() => bench.close());

  /** Delivers what is none of the agent's business, or is. */
  async function bring(...events: (object | undefined)[]): Promise<void> {
    for (const event of events) if (event) expect(await bench.deliver(event)).toBe(true);
    await bench.runAgents();
  }

  /** All that is stored, except access requests and the receipts of their answers. */
  function leftBehind(): unknown {
    const isRequest = ({ pk }: { pk: string }) => /^PAIR$|^TX#.*:pairing$/.test(pk);
    return [bench.items().filter((item) => !isRequest(item)), bench.bucket.keys()];
  }

  it.each(Object.entries(states))(
    "learns nothing, has no command run, and leaves nothing behind where %s",
    async (_state, { settings, isStopped = false, told }) => {
      bench.renew();
      bench.configure({ dmPolicy: "open", owners: Object.values(platform.people) });
      await bring(platform.direct("hello"), platform.inRoom?.("hello"));
      bench.configure(settings, isStopped ? { enabled: false } : {});
      platform.forget();
      const before = [leftBehind(), bench.asked, platform.downloads()];
      await bring(...texts.flatMap((text) => [platform.direct(text), platform.inRoom?.(text)]));
      await bring(platform.attach("/status", picture));
      expect([leftBehind(), bench.asked, platform.downloads()]).toEqual(before);
      // Discord shows the author of a command an answer in any case.
      const shown = name === "discord" ? ["Not available."] : [];
      expect(new Set(platform.answers())).toEqual(new Set([...shown, ...(told ? [told] : [])]));
      if (told) expect(platform.answers().filter((answer) => answer === told)).toHaveLength(1);
    },
  );
});
