import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { Agent } from "../../functions/agent/agent.ts";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { createMemoryStore } from "../../local/items/item-store.ts";
import { itemSize } from "../../local/items/item-validation.ts";
import type { StoredItem } from "../../local/items/keyed-items.ts";
import { tableOver } from "../../local/world/local-table.ts";
import type { AssistantMessage } from "../../shared/protocol/messages.ts";
import { piUsage } from "../../shared/protocol/stored-message.ts";
import { submitMessage } from "../../shared/session/intake.ts";
import { metaKey } from "../../shared/session/state.ts";
import type { Key, Table } from "../../shared/world/world.ts";
import { writeUnits } from "../aws/emulators/dynamodb/consumed-capacity.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";
import type { State } from "../support/state.ts";
import { openBench } from "./bench.ts";

const sessionKey = "agent:main:main";
const minute = 60_000;
const day = 24 * 60 * minute;

const reply = {
  ...{ role: "assistant", api: "a", provider: "anthropic", model: "claude-sonnet-4-6", stopReason: "stop" },
  content: [{ type: "text", text: "It was seen to in May, and is due again in November." }],
  usage: {
    input: 1234,
    output: 210,
    cacheRead: 20480,
    cacheWrite: 1411,
    totalTokens: 23335,
    cost: { input: 0.0037, output: 0.00315, cacheRead: 0.006, cacheWrite: 0.0053, total: 0.0171234 },
  },
};

/** One person's session with an agent whose model answers at once, and the write units of its item. */
function openSession() {
  const plain = tableOver(createMemoryStore());
  const own: number[] = [];
  const found = async (key: Key) => (await plain.get(key)) as StoredItem | undefined;
  const update: Table["update"] = async (key, steps, condition) => {
    const before = await found(key);
    const item = await plain.update(key, steps, condition);
    if (key.sk === "META") own.push(writeUnits(before, await found(key)).table);
    return item;
  };
  const state = {
    table: { ...plain, update },
    bucket: createMemoryBucket({}, async () => {}),
  } as Partial<State> as State;
  const bench = openBench(state, { provider: "anthropic", id: "claude-sonnet-4-6" });
  // A hundred messages end shortly before midnight, when the sums of the day have the most digits.
  bench.later = day - (Date.now() % day) + 17.5 * 60 * minute;
  /** Sends a message like `chat.send`, and runs the agent until nothing is left to do. */
  const send = async (text: string) => {
    bench.later += 20 * minute;
    const agent = bench.agent();
    const message = { ...reply, timestamp: agent.now() } as unknown as AssistantMessage;
    const caller = { connectionId: "Yx1cJd0pIAMCKQA=", requestId: randomUUID(), tokenId: "tok_4f9a2c71" };
    const incoming = { id: randomUUID(), text, writer: {}, configurationVersion: 7 };
    await submitMessage(agent, sessionKey, { ...incoming, origin: { kind: "client", ...caller } });
    const callModel: Agent["callModel"] = async ({ payment: { account, occasion } }) => {
      const admission = account.prepared();
      const usage = piUsage(reply.usage);
      if (admission?.status === "admitted")
        await account.charge(admission.hold, { ...occasion, model: "a/b" }, undefined, usage);
      return { status: "answered", message };
    };
    const answering: Agent = { ...agent, callModel };
    await holdSession(answering, sessionKey, () => 900_000);
  };
  return {
    say: (text = "Was the boiler seen to, and when is it due again?") => send(text),
    reset: () => send("/reset"),
    size: async () => itemSize((await found(metaKey(sessionKey)))!),
    own,
  };
}

it("a session with a hundred messages and sixty resets has an item of 1 KB, and each write of a turn takes two units", async () => {
  const { say, reset, size, own } = openSession();
  for (let n = 0; n < 100; n++) {
    if (n < 60) await reset();
    await say();
  }
  expect(await size()).toBeLessThanOrEqual(1060);
  own.length = 0;
  await say();
  expect(own).toEqual([2, 2, 2, 2, 2]);
});

it("each write of a turn of a young session takes one unit, with a message of 130 characters", async () => {
  const { say, own } = openSession();
  for (let n = 0; n < 5; n++) await say();
  own.length = 0;
  await say("x".repeat(130));
  expect(own).toEqual([1, 1, 1, 1, 1]);
});
