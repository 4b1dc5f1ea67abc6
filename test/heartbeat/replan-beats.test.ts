import { afterAll, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { readBeat, turnOn } from "../../shared/heartbeat/beat-state.ts";
import { beatSettings } from "../../shared/heartbeat/beat-times.ts";
import { replanBeats } from "../../shared/heartbeat/replan-beats.ts";
import { startState } from "../support/state.ts";

const state = await startState();
afterAll(() => state.close());

it("the plan follows the newest interval, although an earlier change is carried out later", async () => {
  const { table } = state;
  const now = Date.parse("2026-05-05T08:00:00Z");
  const configuration = openConfiguration(table, {} as never);
  const planning = { table, schedules: { once: async () => {} }, now: () => now };
  const every = "agents.defaultHeartbeat.every";
  await turnOn(planning, await readBeat(table, "main"), beatSettings(defaults, "main"), now);
  await configuration.set(every, "0m");
  let isOlder = true;
  const load = async () => {
    const read = await configuration.load({ fresh: true });
    if (!isOlder) return read;
    isOlder = false;
    await configuration.set(every, "40m");
    await replanBeats({ ...planning, configuration });
    return read;
  };
  await replanBeats({ ...planning, configuration: { load } });
  expect((await readBeat(table, "main")).nextAt).toBe(now + 40 * 60_000);
});
