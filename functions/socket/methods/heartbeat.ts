import { randomUUID } from "node:crypto";
import { readLastActive } from "../../../shared/channels/last-active.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import { submitBeat } from "../../../shared/heartbeat/beat.ts";
import {
  type BeatState,
  listBeats,
  readBeat,
  turnOff,
  turnOn,
} from "../../../shared/heartbeat/beat-state.ts";
import { agentIds, beatSettings } from "../../../shared/heartbeat/beat-times.ts";
import { replanBeats } from "../../../shared/heartbeat/replan-beats.ts";
import type { AgentHeartbeat, AgentHeartbeats } from "../../../shared/protocol/agent-heartbeat.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import { log } from "../../../shared/runtime/log.ts";
import { defaultAgentId } from "../../../shared/session/key/routing.ts";
import { heartbeatSessionKey, normalizeAgentId } from "../../../shared/session/key/session-key.ts";
import type { Table } from "../../../shared/world/world.ts";
import type { MethodTable } from "../gateway.ts";

type HeartbeatMethod = "heartbeat.status" | "heartbeat.start" | "heartbeat.stop" | "heartbeat.trigger";

export const heartbeatMethods: Pick<MethodTable, HeartbeatMethod> = {
  "heartbeat.status": {
    modes: ["client"],
    handle: async ({ table, configuration }) => ({
      agents: await describeBeats(table, await configuration.load({ fresh: true })),
    }),
  },
  "heartbeat.start": {
    modes: ["client"],
    scope: "admin",
    async handle(gateway, params) {
      const { table, now } = gateway;
      const configuration = await gateway.configuration.load({ fresh: true });
      const chosen = chooseAgents(configuration, params.agentId);
      for (const agentId of chosen) {
        await turnOn(gateway, await readBeat(table, agentId), beatSettings(configuration, agentId), now());
        log("heartbeat.started", { agentId });
      }
      await replanBeats(gateway);
      const agents = await describeBeats(table, configuration);
      const isPlanned = (agentId: string) => agents[agentId]?.nextHeartbeatAt != null;
      const off = chosen.filter((agentId) => !isPlanned(agentId));
      const message = [
        sentenceOf("Heartbeat on for", chosen.filter(isPlanned)),
        sentenceOf("Switched off in the configuration (every is 0):", off),
      ];
      return { message: message.filter(Boolean).join(" "), agents };
    },
  },
  "heartbeat.stop": {
    modes: ["client"],
    scope: "admin",
    async handle({ table, configuration }, params) {
      const loaded = await configuration.load({ fresh: true });
      const chosen = chooseAgents(loaded, params.agentId);
      for (const agentId of chosen) {
        await turnOff(table, agentId);
        log("heartbeat.stopped", { agentId });
      }
      return { message: sentenceOf("Heartbeat off for", chosen), agents: await describeBeats(table, loaded) };
    },
  },
  "heartbeat.trigger": {
    modes: ["client"],
    async handle(gateway, params) {
      const configuration = await gateway.configuration.load({ fresh: true });
      const agentId = params.agentId ?? defaultAgentId(configuration.agents.list);
      const [chosen = agentId] = chooseAgents(configuration, agentId);
      const which = { agentId: chosen, beatId: `heartbeat-${chosen}-${randomUUID()}` };
      const settings = beatSettings(configuration, chosen);
      const to = await submitBeat(gateway, which, settings, configuration);
      const message = `Asked ${chosen} in ${heartbeatSessionKey(chosen)}. ${destinationText(settings.target, to?.channel)}`;
      return { ok: true, message };
    },
  },
};

/** The named agent, or all agents. @throws PeerError 404 */
function chooseAgents(configuration: Configuration, agentId: string | undefined): string[] {
  const all = agentIds(configuration);
  if (agentId === undefined) return all;
  if (all.includes(normalizeAgentId(agentId))) return [normalizeAgentId(agentId)];
  const message = `there is no agent ${agentId}; add it to agents.list, or choose one of ${all.join(", ")}`;
  throw new PeerError(code.notFound, message);
}

function destinationText(target: string, channel: string | undefined): string {
  if (channel !== undefined) return `Its report goes to ${channel}.`;
  const why =
    target === "none" ? "the target is none" : "no owner has written to this agent there in a direct message";
  return `Its report goes to no channel: ${why}.`;
}

function sentenceOf(what: string, agentIds: readonly string[]): string {
  return agentIds.length === 0 ? "" : `${what} ${agentIds.join(", ")}.`;
}

/** The heartbeats of all agents, as `heartbeat.status` shows them. */
async function describeBeats(table: Table, configuration: Configuration): Promise<AgentHeartbeats> {
  const states = new Map((await listBeats(table)).map((state) => [state.agentId, state]));
  const agents = agentIds(configuration).map(async (agentId): Promise<[string, AgentHeartbeat]> => {
    const state = states.get(agentId) ?? { agentId };
    const lastActive = await readLastActive(table, agentId);
    const { everyMs, hours, target } = beatSettings(configuration, agentId);
    return [
      agentId,
      { ...beatFields(state), ...(lastActive ? { lastActive } : {}), everyMs, activeHours: hours, target },
    ];
  });
  return Object.fromEntries(await Promise.all(agents));
}

function beatFields(state: BeatState) {
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
