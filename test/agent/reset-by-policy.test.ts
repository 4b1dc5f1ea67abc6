import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { patchSession } from "../../shared/session/sessions.ts";
import { conversation, lastActivity, message, nextDay, ResetBench, reset } from "./reset-bench.ts";

const resets = new ResetBench();
beforeAll(() => resets.start());
beforeEach(() => resets.renew());
afterAll(() => resets.close());

describe("a reset by policy", () => {
  it("happens once if a schedule and a message request it at the same time", async () => {
    const before = await resets.seed();
    await resets.submit(reset("policy", nextDay));
    await resets.submit(message("good morning", nextDay));
    await resets.invoke(nextDay);
    expect(await resets.previous()).toEqual([before.sessionId]);
    expect((await resets.live()).map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  it("is dropped if a message arrived before it", async () => {
    const before = await resets.seed();
    await resets.submit(message("good morning", nextDay));
    await resets.submit(reset("policy", nextDay));
    await resets.invoke(nextDay);
    expect(await resets.previous()).toEqual([before.sessionId]);
    expect(await resets.live()).toHaveLength(2);
  });

  it("sends no answer, and does not count as activity", async () => {
    const before = await resets.seed();
    await resets.submit(reset("policy", nextDay));
    await resets.invoke(nextDay);
    expect(resets.bench.posted).toEqual([]);
    expect((await resets.current()).updatedAt).toBe(before.updatedAt);
  });

  it("prefers the session's own policy to the configuration's", async () => {
    await resets.seed();
    await patchSession(resets.state.table, resets.key, { resetPolicy: { mode: "manual" } }, nextDay);
    await resets.submit(message("good morning", nextDay));
    await resets.invoke(nextDay);
    expect(await resets.previous()).toEqual([]);
    expect((await resets.live()).slice(0, conversation.length)).toEqual(conversation);
  });

  it("counts idleness until the arrival of the message, even if it waited", async () => {
    await resets.seed({ resetPolicy: { mode: "idle", idleMinutes: 30 } });
    await resets.submit(message("still there?", lastActivity + 29 * 60_000));
    await resets.invoke(nextDay);
    expect(await resets.previous()).toEqual([]);
    expect(resets.scheduled).toMatchObject([{ at: nextDay + 30 * 60_000 + 1 }]);
  });

  it("idle: resets for the first message after the time", async () => {
    const before = await resets.seed({ resetPolicy: { mode: "idle", idleMinutes: 30 } });
    await resets.submit(message("hello again", lastActivity + 31 * 60_000));
    await resets.invoke(lastActivity + 31 * 60_000);
    expect(await resets.previous()).toEqual([before.sessionId]);
  });
});

describe("the schedule of the next reset", () => {
  it("is created at the end of a run, once for a day", async () => {
    for (const [i, text] of ["one", "two", "three"].entries()) {
      await resets.submit(message(text, nextDay + i));
      await resets.invoke(nextDay + i);
    }
    const boundary = Date.parse("2026-03-03T04:00:00Z");
    expect(resets.scheduled).toEqual([
      {
        name: expect.stringMatching(/^reset-[0-9a-f]{32}-\d+$/),
        at: boundary,
        event: { kind: "reset-due", sessionKey: resets.key, at: boundary },
      },
    ]);
    expect((await resets.current()).resetScheduledFor).toBe(boundary);
  });

  it("is at the hour of the user's timezone", async () => {
    resets.bench.configuration.userTimezone = "America/New_York";
    resets.bench.configuration.session.defaultResetPolicy = { mode: "daily", atHour: 6 };
    await resets.submit(message("hi", nextDay));
    await resets.invoke(nextDay);
    expect(resets.scheduled.map(({ at }) => new Date(at).toISOString())).toEqual([
      "2026-03-02T11:00:00.000Z",
    ]);
  });

  it("is not created for a session that is only reset by hand", async () => {
    resets.bench.configuration.session.defaultResetPolicy = { mode: "manual" };
    await resets.submit(message("hi", nextDay));
    await resets.invoke(nextDay);
    expect(resets.scheduled).toEqual([]);
  });

  it("is also created when a run fails", async () => {
    resets.reply = () => ({ error: { status: 400, message: "no" } });
    await resets.submit(message("hi", nextDay));
    await resets.invoke(nextDay);
    expect(resets.scheduled).toHaveLength(1);
  });

  it("may fail without failing the run", async () => {
    resets.allow = (action) => action !== "scheduler:CreateSchedule";
    await resets.submit(message("hi", nextDay));
    await resets.invoke(nextDay);
    expect(await resets.live()).toHaveLength(2);
    expect((await resets.current()).run).toBeUndefined();
  });

  it("is created again after a reset, once there are messages", async () => {
    await resets.seed({ resetScheduledFor: nextDay + 1000 });
    await resets.submit(reset("method", nextDay));
    await resets.invoke(nextDay);
    expect((await resets.current()).resetScheduledFor).toBeUndefined();
    expect(resets.scheduled).toEqual([]);
    await resets.submit(message("hi", nextDay));
    await resets.invoke(nextDay);
    expect(resets.scheduled).toMatchObject([{ at: Date.parse("2026-03-03T04:00:00Z") }]);
  });
});
