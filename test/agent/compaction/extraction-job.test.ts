import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { sweep } from "../../../functions/timer/sweep.ts";
import type { Timer } from "../../../functions/timer/timer.ts";
import { runCommand } from "../../../shared/session/commands/commands.ts";
import { metaKey, type Resetting } from "../../../shared/session/state.ts";
import { set } from "../../../shared/world/expression.ts";
import { isReading } from "../../support/models/model-window.ts";
import type { Reply } from "../../support/models/scripted-model.ts";
import { until } from "../../support/until.ts";
import { message, nextDay, ResetBench, reset } from "../reset-bench.ts";

const resets = new ResetBench();
beforeAll(() => resets.start());
beforeEach(() => resets.renew());
afterAll(() => resets.close());

const minutes = (count: number) => nextDay + count * 60_000;
const down: Reply = { error: { status: 401, message: "the key was revoked" } };

/** The events about extractions that clients received. */
let told: unknown[] = [];
beforeEach(() => {
  told = [];
});

/** Invokes the agent. The events for clients are recorded. */
async function invoke(now: number): Promise<void> {
  const agent = resets.agentAt(now);
  const send: typeof agent.broadcast.send = async (_, event, payload) => {
    if (event === "memory.extracted") told.push(payload);
  };
  await holdSession({ ...agent, broadcast: { ...agent.broadcast, send } }, resets.key, () => 900_000);
}

async function resetConversation(): Promise<void> {
  await resets.seed();
  await resets.submit(reset("method", nextDay));
}

/** The sessions that a sweep wakes the agent for. */
async function sweptAt(now: number): Promise<string[]> {
  const woken: string[] = [];
  const wake: Timer["wake"] = async (sessionKey) => void woken.push(sessionKey);
  await sweep({ table: resets.state.table, wake, now: () => now } as Timer);
  return woken.filter((key) => key === resets.key);
}

const stop = (now: number) => {
  const context = {
    table: resets.state.table,
    wake: async () => {},
    now: () => now,
  } as unknown as Parameters<typeof runCommand>[0];
  return runCommand(context, resets.key, `stop-${now}`, { name: "stop", argument: "" }, {});
};

describe("while a model that hangs is asked for memories", () => {
  it("the reset is answered, and so is the next message", async () => {
    resets.reply = (request) => (isReading(request) ? { hang: true } : { text: "a fresh answer" });
    await resetConversation();
    const extracting = invoke(nextDay);
    await until(() => resets.model.requests.length === 1, "the memories are asked for");
    expect(resets.responses()).toMatchObject([{ ok: true, archivedMessages: 6 }]);
    await resets.submit(message("hello", nextDay));
    await resets.invoke(nextDay);
    expect((await resets.live()).map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(await stop(nextDay)).toEqual({ response: "Stopped the extraction of memories." });
    await extracting;
    expect(await resets.extraction()).toMatchObject({ state: "stopped" });
    expect([await resets.memories(), await sweptAt(minutes(1000))]).toEqual([undefined, []]);
  });
});

describe("an extraction whose model fails", () => {
  it("is repeated by sweeps until it succeeds, and clients are told", async () => {
    resets.reply = () => down;
    await resetConversation();
    await invoke(nextDay);
    const failed = { state: "pending", sessionKey: resets.key, reason: expect.stringContaining("revoked") };
    expect(await resets.extraction()).toMatchObject({ ...failed, nextAt: minutes(1) });
    expect(await sweptAt(minutes(1) - 1)).toEqual([]);
    expect(await sweptAt(minutes(1))).toEqual([resets.key]);
    await invoke(minutes(1));
    expect(await resets.extraction()).toMatchObject({ ...failed, nextAt: minutes(3) });
    resets.reply = () => ({ text: "<memories>- likes tea\n- lives in Oslo</memories>" });
    await invoke(minutes(2));
    expect(await resets.memories()).toBeUndefined();
    await invoke(minutes(3));
    const done = { state: "done", sessionKey: resets.key, at: nextDay, count: 2 };
    expect(await resets.extraction()).toEqual(done);
    expect(told).toEqual([expect.objectContaining(failed), done]);
    expect(await resets.memories()).toMatch(/\n- likes tea\n- lives in Oslo\n$/);
    expect(await sweptAt(minutes(1000))).toEqual([]);
  });

  it("fails after ten attempts in four hours, with the reason", async () => {
    resets.reply = () => down;
    await resetConversation();
    let attempts = 0;
    for (let at = nextDay; at <= minutes(300); at += 60_000) {
      if (at > nextDay && (await sweptAt(at)).length === 0) continue;
      attempts += 1;
      await invoke(at);
    }
    expect(attempts).toBe(10);
    expect(await resets.extraction()).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("401"),
    });
    expect(told).toHaveLength(2);
  });
});

describe("an extraction whose process dies", () => {
  it("is resumed by a sweep, and fails after eight deaths", async () => {
    resets.reply = async () => {
      resets.allow = () => false;
      return { text: "<memories>- too late</memories>" };
    };
    await resetConversation();
    for (let tries = 0; tries < 8; tries++) {
      await expect(invoke(minutes(tries))).rejects.toThrow();
      resets.allow = () => true;
      expect(await sweptAt(minutes(tries + 1))).toEqual([resets.key]);
    }
    await invoke(minutes(8));
    expect(resets.model.requests).toHaveLength(8);
    expect(await resets.extraction()).toMatchObject({
      state: "failed",
      reason: "it was interrupted 8 times",
    });
  });

  it("does not record what the user had the agent forget meanwhile", async () => {
    const agent = resets.agentAt(nextDay);
    resets.reply = () => ({ text: "<memories>- likes tea\n- lives in Oslo</memories>" });
    await resetConversation();
    resets.allow = async (action) => {
      const isAppending = action === "s3:PutObject" && (await resets.extraction())?.state === "pending";
      return !isAppending;
    };
    await invoke(nextDay).catch(() => {});
    resets.allow = () => true;
    expect(await resets.memories()).toBeUndefined();
    const memories = await agent.memories();
    await memories.ledger.forget(resets.agentId, "likes tea", nextDay);
    await invoke(minutes(1));
    expect(await resets.memories()).toMatch(/\n- lives in Oslo\n$/);
    expect(await resets.memories()).not.toContain("tea");
    expect(resets.model.requests).toHaveLength(1);
  });
});

describe("a reset that an earlier version began", () => {
  const begun = async (more: Partial<Resetting>) => {
    await resets.seed();
    await resets.submit(reset("method", nextDay));
    const resetting = { newSessionId: "new", at: nextDay, entryId: "reset-method", attempt: 1, messages: 6 };
    await resets.state.table.update(metaKey(resets.key), [
      set("resetting", { ...resetting, ...more } as never),
    ]);
  };

  it("appends the memories that it found, and asks no model", async () => {
    await begun({ memories: "- likes tea" });
    await invoke(nextDay);
    expect(await resets.memories()).toMatch(/\n- likes tea\n$/);
    expect(resets.model.requests).toEqual([]);
    expect(resets.responses()).toMatchObject([{ ok: true, newSessionId: "new" }]);
  });

  it("extracts memories if that version had not come so far", async () => {
    await begun({});
    await invoke(nextDay);
    expect(await resets.memories()).toMatch(/\n- likes tea\n$/);
    expect(await resets.extraction()).toMatchObject({ state: "done", count: 1 });
  });

  it("is left to it as one that has no memories", async () => {
    await begun({});
    const found: unknown[] = [];
    resets.allow = async (action) => {
      if (action !== "dynamodb:UpdateItem") return true;
      const { resetting } = await resets.current();
      if (resetting?.archivedTo !== undefined) found.push(resetting.memories);
      return true;
    };
    await invoke(nextDay);
    expect(new Set(found)).toEqual(new Set([""]));
  });
});
