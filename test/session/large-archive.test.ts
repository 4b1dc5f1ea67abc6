import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { createMemoryStore } from "../../local/items/item-store.ts";
import { tableOver } from "../../local/world/local-table.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { writeMessages } from "../../shared/session/transcript.ts";
import { startEmulatedState } from "../support/emulated-state.ts";
import { randomBytesFrom } from "../support/random.ts";
import { bundleProgram } from "../support/run/bundle-program.ts";

const sessionKey = "agent:main:main";

it("archives a conversation of more than 25 MB, compressed, and reads it again, in 64 MB of heap", async () => {
  const limit = 25_000_000;
  const store = createMemoryStore();
  const emulated = await startEmulatedState(undefined, store);
  try {
    // Base64 of random bytes compresses to the random bytes. The last character makes each text use two bytes of heap per
    // character, so that all of them need more than the heap has.
    const messages = 240;
    // Not through the emulated wire, which is slower than the process reads.
    const filled = { table: tableOver(store), bucket: emulated.bucket };
    const digest = createHash("sha256");
    for (let seq = 1; seq <= messages; seq += 8) {
      const some: Message[] = Array.from({ length: 8 }, (_, i) => {
        const content = `${Buffer.from(randomBytesFrom(110_000, seq + i)).toString("base64")}…`;
        digest.update(content);
        return { role: "user", content, timestamp: seq + i };
      });
      await writeMessages(filled, { sessionKey, epoch: 1 }, "s-large", seq, some);
    }
    const program = await bundleProgram(new URL("fixtures/archive-process.ts", import.meta.url));
    const options = ["--max-old-space-size=64", "--expose-gc", "--single-threaded-gc"];
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...options, program, sessionKey, "s-large", String(messages), String(limit)],
      { env: { ...process.env, ...emulated.env } },
    );
    const outcome = JSON.parse(stdout);
    expect(outcome).toMatchObject({ messages, digest: digest.digest("hex") });
    const { objects } = await emulated.bucket.list(outcome.key);
    expect(objects[0]!.size).toBeGreaterThan(limit);
    // Less than the whole archive: parts of 5 MB, and the buffers of the clients. 19 MB were in use after each
    // collection, also on a busy machine.
    expect(outcome.most).toBeLessThan(limit);
  } finally {
    await emulated.close();
  }
}, 300_000);
