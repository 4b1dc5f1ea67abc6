import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { Bucket } from "../../shared/world/world.ts";
import { randomBytesFrom } from "../support/random.ts";
import { startState } from "../support/state.ts";
import { user } from "./compaction/transcripts.ts";
import { lastActivity, nextDay, ResetBench, reset } from "./reset-bench.ts";

const resets = new ResetBench();

/**
 * When the uploading process dies: after this number of pieces, or after all of them but before the object exists.
 * `refused`: it does not die, but the bucket refuses the object.
 */
type Death = number | "end" | "refused" | "never";
const upload: { death: Death; pieces: number } = { death: "never", pieces: 0 };

/** The process dies at `upload.death`; all its later calls fail. */
async function* sent(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const die = () => {
    resets.allow = () => false;
    throw new Error("killed");
  };
  if (upload.death === "refused") throw new Error("refused");
  for await (const piece of body) {
    if (upload.pieces === upload.death) die();
    upload.pieces++;
    yield piece;
  }
  if (upload.death === "end") die();
}

beforeAll(() =>
  resets.start(async (allow) => {
    const state = await startState(allow);
    const putStream: Bucket["putStream"] = (key, body, options) =>
      state.bucket.putStream(key, sent(body), options);
    return { ...state, bucket: { ...state.bucket, putStream } };
  }),
);
beforeEach(() => resets.renew());
afterAll(() => resets.close());

it("a reset killed in the upload of an archive, or refused it, ends with one whole archive", async () => {
  // Base64 of random bytes compresses to the random bytes, which are sent in pieces.
  const said = Array.from({ length: 4 }, (_, i) =>
    user(Buffer.from(randomBytesFrom(50_000, i)).toString("base64")),
  );
  resets.reply = () => ({ text: "nothing" });
  const run = async (death: Death) => {
    resets.newSession();
    await resets.bench.seed(resets.key, said, { updatedAt: lastActivity });
    const before = await resets.current();
    await resets.submit(reset("method", nextDay));
    Object.assign(upload, { death, pieces: 0 });
    const ended = resets.invoke(nextDay);
    if (death !== "never") {
      await expect(ended).rejects.toThrow();
      resets.allow = () => true;
      expect(
        await resets.keysUnder(`agents/${resets.agentId}/sessions/${before.sessionId}.jsonl`),
      ).toHaveLength(0);
      upload.death = "never";
      await resets.invoke(nextDay + 31_000);
    } else await ended;
    expect(await resets.archived(before.sessionId)).toEqual(said);
    expect(await resets.previous()).toEqual([before.sessionId]);
    return upload.pieces;
  };

  // The compressed text comes in pieces of any size, so that their number differs from run to run.
  expect(await run("never")).toBeGreaterThan(5);
  for (const death of [0, 1, 4, "end", "refused"] as const) await run(death);
});
