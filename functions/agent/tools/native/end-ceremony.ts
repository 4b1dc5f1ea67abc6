import { readBeat, turnOn } from "../../../../shared/heartbeat/beat-state.ts";
import { beatSettings } from "../../../../shared/heartbeat/beat-times.ts";
import { promptFiles } from "../../../../shared/workspace/workspace-paths.ts";
import type { Agent } from "../../agent.ts";
import type { NativeOutcome } from "./native-tool.ts";

type CeremonyTools = Pick<Agent, "workspace" | "configuration" | "table" | "schedules" | "now">;

/**
 * Ends the first run: deletes BOOTSTRAP.md and turns the agent's heartbeat on, unless the user has turned it on
 * or off before. The heartbeat comes first, so that a crash in between leaves the ceremony to be ended again.
 * @throws PeerError 404 when there is no BOOTSTRAP.md: nothing is turned on then
 */
export async function endCeremony(agent: CeremonyTools, agentId: string): Promise<NativeOutcome> {
  const { workspace, configuration, table, now } = agent;
  await workspace.read(agentId, promptFiles.bootstrap);
  const [state, loaded] = await Promise.all([readBeat(table, agentId), configuration.load({ fresh: true })]);
  const settings = beatSettings(loaded, agentId);
  if (state.on === undefined) await turnOn(agent, state, settings, now());
  const deleted = await workspace.delete(agentId, promptFiles.bootstrap);
  if (state.on === false || settings.everyMs === 0) return { ok: true, result: deleted };
  const { start, end, timezone } = settings.hours;
  const heartbeat =
    `on: every ${settings.everyMs / 60_000} minutes from ${start} to ${end} (${timezone}) you are woken, if ` +
    `${promptFiles.heartbeat} says what to look after; each time is a model call. Tell your human, and that ` +
    "`gsv heartbeat stop` turns it off";
  return { ok: true, result: { ...deleted, heartbeat } };
}
