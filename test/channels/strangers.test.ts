import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { imageBytes } from "../support/images.ts";
import type { SharedFile } from "../support/platforms/platform-server.ts";
import { type Platform, platformNames } from "../support/platforms/platforms.ts";
import { startTurnBench, type TurnBench } from "./turn-bench.ts";

/** Settings under which neither Ann nor the room is admitted, and the notice that the sender gets, if any. */
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

  /** Delivers messages that the agent ignores or accepts. */
  async function bring(...events: (object | undefined)[]): Promise<void> {
    for (const event of events) if (event) expect(await bench.deliver(event)).toBe(true);
    await bench.runAgents();
  }

  /** All stored items, except pairing requests and the receipts of their notices. */
  function leftBehind(): unknown {
    const isRequest = ({ pk }: { pk: string }) => /^PAIR$|^TX#.*:pairing$/.test(pk);
    return [bench.items().filter((item) => !isRequest(item)), bench.bucket.keys()];
  }

  it.each(Object.entries(states))(
    "gets no information, runs no command, and leaves nothing stored when %s",
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
      // The sender of a Discord command always gets an answer.
      const shown = name === "discord" ? ["Not available."] : [];
      expect(new Set(platform.answers())).toEqual(new Set([...shown, ...(told ? [told] : [])]));
      if (told) expect(platform.answers().filter((answer) => answer === told)).toHaveLength(1);
    },
  );
});
