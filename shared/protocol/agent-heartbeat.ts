import type { Peer } from "./channel-accounts.ts";

/** Where an agent was last written to on a channel. `timestamp` in epoch ms. */
export interface LastActive {
  channel: string;
  accountId: string;
  peer: Peer;
  timestamp: number;
}

/** Why a beat did not ask the model. */
export type SkipReason =
  | "outside_active_hours"
  | "no_heartbeat_file"
  | "empty_heartbeat_file"
  /** The beat before it is still being worked on. */
  | "session_busy";

/** The heartbeat of an agent. Times are epoch ms; null where there was none. */
export interface AgentHeartbeat {
  agentId: string;
  /** Null when the heartbeat is off. */
  nextHeartbeatAt: number | null;
  /** When the model last answered, or failed to. */
  lastHeartbeatAt: number | null;
  /** What it answered; the beginning of a long text. */
  lastHeartbeatText: string | null;
  /** When an answer was last delivered to a channel. */
  lastHeartbeatSentAt: number | null;
  lastActive?: LastActive;
  /** Whether it was turned on. Ours, as all that follows. */
  on: boolean;
  everyMs: number;
  activeHours: { start: string; end: string; timezone: string };
  /** `last`, `none`, or a channel's name. */
  target: string;
  /** The last beat that did not ask the model. */
  lastSkippedAt?: number;
  lastSkipReason?: SkipReason;
}

/** The heartbeats of all agents, by their ids. */
export type AgentHeartbeats = Record<string, AgentHeartbeat>;
