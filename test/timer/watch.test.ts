import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTimerHandler } from "../../functions/timer/timer-handler.ts";
import { createWebhookHandler } from "../../functions/webhook/webhook-handler.ts";
import { setLogOutput } from "../../shared/runtime/log.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import type { Table, TimerEvent, World } from "../../shared/world/world.ts";
import { recordedRun } from "../bench/deployed/idle-cost.ts";
import { type State, startState } from "../support/state.ts";

const minute = 60_000;
const context = {
  awsRequestId: "c6af9ac6-594e-3d37-aa40-3a07efc2b4a5",
  getRemainingTimeInMillis: () => 60_000,
} as never;

let state: State;
let restore: () => void;
let logged: string[];
let clock = Date.UTC(2026, 10, 22);
beforeEach(async () => {
  state = await startState();
  logged = [];
  restore = setLogOutput((line) => void logged.push(line));
});
afterEach(async () => {
  restore();
  await state.close();
});

const worldOver = (table: Table): World => ({
  table,
  bucket: state.bucket,
  secrets: state.openSecrets("/gsv/test"),
  gatewayUrl: "wss://gateway.example/ws",
  presigner: {} as World["presigner"],
  sockets: { post: async () => "sent", close: async () => {} },
  schedules: { once: async () => {} },
  wake: async () => {},
  requiresHeader: false,
  now: () => clock,
  pause: async () => true,
});
const fire = (event: TimerEvent) => createTimerHandler(worldOver(state.table))(event, context);
const request = () =>
  ({
    rawPath: "/telegram/main",
    requestContext: { http: { method: "POST" } },
    headers: {},
    body: "{}",
  }) as never;

describe("the watch", () => {
  it("succeeds while no function has recorded a fault", async () => {
    await expect(fire({ kind: "watch" })).resolves.toBeUndefined();
  });

  it("fails for a quarter of an hour after a function has logged an error", async () => {
    const broken = { ...state.table, get: () => Promise.reject(new Error("throttled")) };
    const answer = await createWebhookHandler(worldOver(broken))(request(), context);
    expect(answer).toMatchObject({ statusCode: 500 });
    clock += 14 * minute;
    await expect(fire({ kind: "watch" })).rejects.toThrow(
      "the webhook function logged errors, last at 2026-",
    );
    clock += 2 * minute;
    await expect(fire({ kind: "watch" })).resolves.toBeUndefined();
  });

  it("fails after more than ten invocations per second of one function for a minute", async () => {
    const webhook = createWebhookHandler(worldOver(state.table));
    for (let count = 0; count < 600; count++) await webhook(request(), context);
    await expect(fire({ kind: "watch" })).resolves.toBeUndefined();
    await webhook(request(), context);
    await expect(fire({ kind: "watch" })).rejects.toThrow(
      "the webhook function was invoked more than ten times",
    );
  });

  it("an idle sweep logs as little as the bill of an idle month counts", async () => {
    await fire({ kind: "sweep" });
    // The first one may begin an upgrade.
    logged.length = 0;
    await fire({ kind: "sweep" });
    expect(logged).toHaveLength(3);
    expect(Buffer.byteLength(`${logged.join("\n")}\n`)).toBeLessThanOrEqual(recordedRun.log_bytes);
  });

  it("fails after the sweep found a session that an agent left", async () => {
    const entry = { id: "m", at: clock, origin: { kind: "client" }, kind: "message", text: "hello" } as const;
    await appendEntry(state.table, "agent:main:main", entry, clock);
    clock += 10 * minute;
    await fire({ kind: "sweep" });
    await expect(fire({ kind: "watch" })).rejects.toThrow("the agent function left a session");
  });
});
