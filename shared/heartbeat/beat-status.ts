import { readLastActive } from "../channels/last-active.ts";
import type { Configuration } from "../configuration/schema.ts";
import type { AgentHeartbeat, AgentHeartbeats } from "../protocol/agent-heartbeat.ts";
import type { Table } from "../world/world.ts";
import { type BeatState, listBeats } from "./beat-state.ts";
import { agentIds, beatSettings } from "./beat-times.ts";

/** The heartbeats of all agents, as `heartbeat.status` shows them. */
export async function describeBeats(table: Table, configuration: Configuration): Promise<AgentHeartbeats> {
  const states = new Map((await listBeats(table)).map((state) => [state.agentId, state]));
  const agents = agentIds(configuration).map(async (agentId): Promise<[string, AgentHeartbeat]> => {
    const state = states.get(agentId) ?? { agentId };
    const lastActive = await readLastActive(table, agentId);
    const { everyMs, hours, target } = beatSettings(configuration, agentId);
    return [
      agentId,
      { ...shown(state), ...(lastActive ? { lastActive } : {}), everyMs, activeHours: hours, target },
    ];
  });
  return Object.fromEntries(await Promise.all(agents));
}

function shown(state: BeatState) {
  const { agentId, on = false, nextAt, lastAt, lastText, lastSentAt, skippedAt, skipReason } = state;
  return {
    agentId,
    nextHeartbeatAt: nextAt ?? null,
    lastHeartbeatAt: lastAt ?? null,
    lastHeartbeatText: lastText ?? null,
    lastHeartbeatSentAt: lastSentAt ?? null,
    on,
    ...(skippedAt === undefined ? {} : { lastSkippedAt: skippedAt }),
    ...(skipReason === undefined ? {} : { lastSkipReason: skipReason }),
  };
}
