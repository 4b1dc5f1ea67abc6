import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { startEmulatedState } from "../support/emulated-state.ts";
import { randomBytesFrom } from "../support/random.ts";
import { user } from "./compaction/transcripts.ts";
import { lastActivity, nextDay, ResetBench, reset } from "./reset-bench.ts";

const resets = new ResetBench();
beforeAll(() => resets.start(startEmulatedState));
beforeEach(() => resets.renew());
afterAll(() => resets.close());

it("a reset killed in the upload of an archive of several parts ends with one whole archive", async () => {
  // Base64 of random bytes compresses to the random bytes: 10 MB in all, which are two parts.
  const said = Array.from({ length: 50 }, (_, i) =>
    user(Buffer.from(randomBytesFrom(200_000, i)).toString("base64")),
  );
  resets.reply = () => ({ text: "nothing" });
  for (let puts = 0; puts < 4; puts++) {
    resets.newSession();
    await resets.bench.seed(resets.key, said, { updatedAt: lastActivity });
    const before = await resets.current();
    await resets.submit(reset("method", nextDay));
    let [made, dead] = [0, false];
    resets.allow = (action) => {
      dead ||= action === "s3:PutObject" && made++ >= puts;
      return !dead;
    };
    await expect(resets.invoke(nextDay)).rejects.toThrow();
    resets.allow = () => true;
    expect(
      await resets.keysUnder(`agents/${resets.agentId}/sessions/${before.sessionId}.jsonl`),
    ).toHaveLength(0);
    await resets.invoke(nextDay + 31_000);
    expect(await resets.archived(before.sessionId)).toEqual(said);
    expect((await resets.current()).previousSessionIds).toEqual([before.sessionId]);
  }
}, 300_000);
