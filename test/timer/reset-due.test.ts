import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { resetIfDue, type Timer } from "../../functions/timer/timer.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import { planReset } from "../../shared/session/reset-schedule.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { metaKey, newSession, type SessionState } from "../../shared/session/state.ts";
import type { TimerEvent } from "../../shared/world/world.ts";
import { type State, startState } from "../support/state.ts";

const minute = 60_000;
const boundary = Date.parse("2026-03-02T04:00:00Z");
const nextBoundary = boundary + 24 * 60 * minute;

let state: State;
let timer: Timer;
let now: number;
let woken: string[];
let scheduled: { name: string; at: number; event: TimerEvent }[];
let sessionKey: string;
let sessions = 0;

beforeAll(async () => {
  state = await startState();
});
beforeEach(() => {
  sessionKey = `agent:main:t${++sessions}`;
  woken = [];
  scheduled = [];
  now = boundary + 20_000;
  timer = {
    table: state.table,
    sockets: { post: async () => "sent", close: async () => {} },
    schedules: { once: async (name, at, event) => void scheduled.push({ name, at, event }) },
    configuration: { load: async () => defaults },
    wake: async (key) => void woken.push(key),
    files: { read: async () => undefined },
    sweepMemories: async () => {},
    now: () => now,
  };
});
afterAll(() => state.close());

async function session(changes: Partial<SessionState>): Promise<SessionState> {
  const said = { head: 4, updatedAt: boundary - 60 * minute, resetScheduledFor: boundary };
  const item = { ...newSession(sessionKey, "id-1", 1), ...said, ...changes };
  await state.table.put({ ...(item as never as object), ...metaKey(sessionKey) });
  return item;
}

const fire = (at = boundary) => resetIfDue(timer, { kind: "reset-due", sessionKey, at });
const current = async () => (await readSession(state.table, sessionKey))!;

describe("the schedule of a reset", () => {
  it("requests it from the agent when it is due", async () => {
    await session({});
    await fire();
    expect((await current()).inbox).toEqual([
      {
        id: `reset-id-1-${boundary}`,
        at: now,
        origin: { kind: "client" },
        kind: "reset",
        via: "policy",
      },
    ]);
    expect(woken).toEqual([sessionKey]);
    expect(scheduled).toEqual([]);
  });

  it("requests it once, even if it is delivered again", async () => {
    await session({});
    await Promise.all([fire(), fire(), fire()]);
    await fire();
    expect((await current()).inbox).toHaveLength(1);
  });

  it("plans the next check if the session was used since the boundary", async () => {
    await session({ updatedAt: boundary + 5000 });
    await fire();
    expect((await current()).inbox).toEqual([]);
    expect(woken).toEqual([]);
    expect(scheduled).toMatchObject([
      { at: nextBoundary, event: { kind: "reset-due", sessionKey, at: nextBoundary } },
    ]);
    expect((await current()).resetScheduledFor).toBe(nextBoundary);
  });

  it("checks again when an idle session will be due", async () => {
    const updatedAt = boundary - 10 * minute;
    await session({ resetPolicy: { mode: "idle", idleMinutes: 30 }, updatedAt });
    await fire();
    expect(scheduled).toMatchObject([{ at: updatedAt + 30 * minute + 1 }]);
    expect((await current()).resetScheduledFor).toBe(updatedAt + 30 * minute + 1);
    now = updatedAt + 30 * minute + 1;
    await fire(now);
    expect((await current()).inbox).toHaveLength(1);
  });

  it("does nothing if another one has replaced it, or the session was reset", async () => {
    await session({ resetScheduledFor: nextBoundary });
    await fire();
    await session({ resetScheduledFor: undefined });
    await fire();
    expect(await current()).toMatchObject({ inbox: [] });
    expect([woken, scheduled]).toEqual([[], []]);
  });

  it("does nothing for a missing session", async () => {
    await fire();
    expect([woken, scheduled]).toEqual([[], []]);
    expect(await readSession(state.table, sessionKey)).toBeUndefined();
  });

  it("ends if the session has no messages since its last reset", async () => {
    await session({ head: 0 });
    await fire();
    expect((await current()).resetScheduledFor).toBeUndefined();
    expect([woken, scheduled]).toEqual([[], []]);
  });

  it("ends if the policy has become manual", async () => {
    await session({ resetPolicy: { mode: "manual" } });
    await fire();
    expect((await current()).resetScheduledFor).toBeUndefined();
    expect([woken, scheduled]).toEqual([[], []]);
  });

  it("does not disturb a busy session, and checks again later", async () => {
    const run = {
      runId: "r",
      phase: "tools",
      step: 0,
      attempt: 1,
      startedAt: 1,
      pending: {},
      pendingCount: 1,
    };
    await session({ run: { ...run, origin: { kind: "client" } } as SessionState["run"] });
    await fire();
    expect((await current()).inbox).toEqual([]);
    expect(scheduled).toMatchObject([{ at: nextBoundary }]);
  });

  it("is created when a session's policy is set, before the next message", async () => {
    await session({ resetScheduledFor: undefined, resetPolicy: { mode: "idle", idleMinutes: 90 } });
    await planReset(timer, await current(), now);
    const at = boundary + 30 * minute + 1;
    expect(scheduled).toMatchObject([{ at }]);
    expect((await current()).resetScheduledFor).toBe(at);
  });

  it("is created earlier if a new policy requires it, and the later one then does nothing", async () => {
    await session({ resetScheduledFor: nextBoundary, resetPolicy: { mode: "idle", idleMinutes: 90 } });
    await planReset(timer, await current(), now);
    await fire(nextBoundary);
    expect((await current()).inbox).toEqual([]);
    expect(scheduled).toHaveLength(1);
  });
});
