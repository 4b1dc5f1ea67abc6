import { findOwner } from "../channels/last-active.ts";
import type { Configuration } from "../configuration/schema.ts";
import type { SkipReason } from "../protocol/agent-heartbeat.ts";
import { wasAccepted } from "../session/inbox.ts";
import type { Origin } from "../session/inbox-entry.ts";
import { type Intake, submitEntry } from "../session/intake.ts";
import { heartbeatSessionKey } from "../session/key/session-key.ts";
import { readSession } from "../session/sessions.ts";
import type { CachedReader } from "../workspace/cached-reader.ts";
import { asksForHeartbeat } from "../workspace/heartbeat-file.ts";
import { promptFiles, workspacePrefix } from "../workspace/workspace-paths.ts";
import type { Table } from "../world/world.ts";
import { type BeatSettings, isActive } from "./beat-times.ts";

/** The dependencies of `skipReason`. */
export interface BeatSources {
  table: Table;
  /** Reads the workspace. */
  files: Pick<CachedReader, "read">;
}

/**
 * Why a tick skips the model call; undefined when it does not. Cheapest checks first: the clock, one object, one item.
 * @param beatId the id of the tick's inbox entry: a session that has accepted it is not busy with an earlier tick
 * @param now epoch ms
 */
export async function skipReason(
  { table, files }: BeatSources,
  { agentId, beatId }: { agentId: string; beatId: string },
  { hours }: Pick<BeatSettings, "hours">,
  now: number,
): Promise<SkipReason | undefined> {
  if (!isActive(now, hours)) return "outside_active_hours";
  const text = await files.read(workspacePrefix(agentId) + promptFiles.heartbeat, now);
  if (text === undefined) return "no_heartbeat_file";
  if (!asksForHeartbeat(text)) return "empty_heartbeat_file";
  const session = await readSession(table, heartbeatSessionKey(agentId));
  if (!session || wasAccepted(session, beatId)) return undefined;
  return session.run || session.inbox.length > 0 ? "session_busy" : undefined;
}

/**
 * Submits the prompt to the agent's heartbeat session, once for each `beatId`.
 * @returns where the answer will be delivered; undefined for no channel
 */
export async function submitBeat(
  intake: Intake,
  { agentId, beatId }: { agentId: string; beatId: string },
  { prompt, target }: Pick<BeatSettings, "prompt" | "target">,
  configuration: Configuration,
) {
  const onChannel = target === "last" ? undefined : target;
  const to = target === "none" ? undefined : await findOwner(intake.table, configuration, agentId, onChannel);
  // A person who becomes an owner before the answer is there receives it.
  const later: Origin = {
    kind: "client",
    owner: { agentId, ...(onChannel === undefined ? {} : { onChannel }) },
  };
  await submitEntry(intake, heartbeatSessionKey(agentId), {
    id: beatId,
    at: intake.now(),
    origin: { kind: "client" },
    kind: "message",
    text: prompt,
    task: { kind: "heartbeat", agentId, ...(target === "none" ? {} : { to: to ?? later }) },
  });
  return to;
}
