import { heartbeatMethods } from "../../../functions/socket/methods/heartbeat.ts";
import { createLastActive } from "../../../shared/channels/last-active.ts";
import { mergeConfiguration } from "../../../shared/configuration/store.ts";
import { type BeatState, beatPartition } from "../../../shared/heartbeat/beat-state.ts";
import { beatSettings } from "../../../shared/heartbeat/beat-times.ts";
import { replanBeats } from "../../../shared/heartbeat/replan-beats.ts";
import { configurationKey } from "../../../shared/world/stored-format.ts";
import type { World } from "../../../shared/world/world.ts";
import type { SceneAction } from "../load/actions.ts";
import { gatewayOf } from "./gateway.ts";
import type { Scene, Stage, Write } from "./scene.ts";

export const beatActions = ["start", "start", "stop", "every", "every", "every", "empty", "fill"];

/** Heartbeats in the settings of a schedule: each minute, at any time of the day. */
export const usualBeats = { every: "1m", target: "sim", activeHours: { start: "00:00", end: "00:00" } };

const intervals = ["1m", "2m", "40m", "0m"];

/** A tick that is overdue for longer than this is dead. Milliseconds. */
const maxOverdueMs = 180_000;

const key = { pk: beatPartition, sk: "main" };
const file = "agents/main/HEARTBEAT.md";
const beatIdOf = (at: number) => `heartbeat-${key.sk}-${at}`;

/** People switch an agent's heartbeat on and off, and change its interval and its file, while it ticks. */
export function createBeats({ ledger, peers, timeline, cloud, sent, faults }: Stage): Scene {
  const planned = new Set<string>();
  /** Whether a change of the interval may be half done. */
  let isUnsettled = false;
  const state = () => cloud.store.get(key) as unknown as BeatState;
  const fault = (what: string) => ledger.fault(`heartbeat: ${what}`);
  const chosen = { agentId: key.sk };
  const start = async (world: World) =>
    heartbeatMethods["heartbeat.start"].handle(gatewayOf(world), chosen, {} as never);
  const stop = (world: World) =>
    heartbeatMethods["heartbeat.stop"].handle(gatewayOf(world), chosen, {} as never);
  const change = (every: string) => async (world: World) => {
    const gateway = gatewayOf(world);
    await gateway.configuration.set("agents.defaultHeartbeat.every", every);
    await replanBeats(gateway);
  };
  const everyMs = () => {
    const overrides = JSON.parse(String(cloud.store.get(configurationKey)?.overrides));
    return beatSettings(mergeConfiguration(overrides), key.sk).everyMs;
  };
  return {
    async prepare() {
      const owner = { peer: { kind: "dm", id: "me" }, senderId: "me", role: "owner" } as const;
      const { table, bucket, now } = cloud.direct;
      await createLastActive(table, now)({ agentId: key.sk, channel: "sim", accountId: "default", ...owner });
      await bucket.put(file, "- look at the door");
      await start(cloud.direct);
    },
    async perform({ does, value }: SceneAction, id: string) {
      if (does === "start") await peers.insist(id, start);
      else if (does === "stop") await peers.insist(id, stop);
      else if (does === "every") {
        const isDone = await peers.insist(id, change(intervals[value % intervals.length] ?? ""));
        isUnsettled ||= !isDone;
      } else {
        const text = does === "fill" ? "- look at the door" : "# Tasks";
        await peers.insist(id, ({ bucket }) => bucket.put(file, text));
      }
    },
    written({ key: { pk, sk }, before, after, writer }: Write) {
      if (pk !== key.pk || sk !== key.sk) return;
      const states = { before: (before ?? {}) as Partial<BeatState>, after: after as unknown as BeatState };
      const isAccepted = (at: number) => ledger.entries.has(beatIdOf(at));
      for (const one of planFaults(states, isAccepted, /^(start|stop|every)-/.test(writer))) fault(one);
      if (states.after.nextAt !== undefined) planned.add(beatIdOf(states.after.nextAt));
    },
    async calm() {
      await timeline.pass(maxOverdueMs + 60_000);
      const { on, nextAt } = state();
      if (on && nextAt === undefined && everyMs() > 0 && !isUnsettled)
        fault("it is on, but has no next tick");
      if (on && nextAt !== undefined && nextAt < timeline.now - maxOverdueMs) fault("it is dead");
      await peers.insist("stop-0", stop);
    },
    isQuiet: () => state().on === false,
    async rest() {
      const ticks = [...ledger.entries.keys()].filter((id) => id.startsWith(beatIdOf(0).slice(0, -1)));
      for (const id of ticks) if (!planned.has(id)) fault(`${id} was never planned`);
      if (state().nextAt !== undefined) fault("it is off, but has a next tick");
      const reports = sent.filter((one) => ticks.includes(one.id.replace(/#\d+$/, "")));
      if (faults.total === 0 && reports.length > 1) fault(`the same report was sent ${reports.length} times`);
    },
  };
}

/** A tick asks the model once, or is skipped with a reason; only people move it, and none is planned again. */
function planFaults(
  { before, after }: { before: Partial<BeatState>; after: BeatState },
  isAccepted: (at: number) => boolean,
  isByPeople: boolean,
): string[] {
  const [last, next] = [before.nextAt, after.nextAt];
  const isPlan = last !== next || before.on !== after.on || before.plan !== after.plan;
  const faults: string[] = [];
  if (isPlan && after.version !== (before.version ?? 0) + 1) faults.push("a plan ignored another");
  if (last === next || next === undefined) return faults;
  if (isAccepted(next)) faults.push(`the tick ${next} is planned again`);
  if (last === undefined || isByPeople) return faults;
  if (next < last) faults.push("its next tick went back");
  const isSkipped = after.skippedAt !== before.skippedAt;
  if (!isAccepted(last) && !isSkipped) faults.push(`the tick ${last} was passed over`);
  return faults;
}
