import type { ConfigurationStore } from "../configuration/store.ts";
import { type BeatPlanning, listBeats, planAnew } from "./beat-state.ts";
import { beatSettings, planOf } from "./beat-times.ts";

/**
 * Plans the ticks again whose settings have changed. Afterwards the configuration is read again: a plan from an older one,
 * which another request has replaced meanwhile, must not stay.
 */
export async function replanBeats(
  planning: BeatPlanning & { configuration: Pick<ConfigurationStore, "load">; now: () => number },
): Promise<void> {
  const { table, configuration, now } = planning;
  for (;;) {
    const [states, newest] = await Promise.all([listBeats(table), configuration.load({ fresh: true })]);
    const settingsOf = (agentId: string) => beatSettings(newest, agentId);
    const outdated = states.filter(({ on, plan, agentId }) => on && plan !== planOf(settingsOf(agentId)));
    if (outdated.length === 0) return;
    for (const state of outdated) await planAnew(planning, state, settingsOf(state.agentId), now());
  }
}
