import type { Peer } from "./channel-accounts.ts";

/** The conversation on a channel where an agent last received a message. `timestamp` in epoch ms. */
export interface LastActive {
  channel: string;
  accountId: string;
  peer: Peer;
  timestamp: number;
}

/** Why a heartbeat tick did not call the model. */
export type SkipReason =
  | "outside_active_hours"
  | "no_heartbeat_file"
  | "empty_heartbeat_file"
  /** The previous tick is still in progress. */
  | "session_busy"
  /** A limit of `budgets.rules` is used up. */
  | "budget";

/** The heartbeat of an agent. Times are epoch ms; null when there was none. */
export interface AgentHeartbeat {
  agentId: string;
  /** Null when the heartbeat is off. */
  nextHeartbeatAt: number | null;
  /** When a model call last ended, with an answer or a failure. */
  lastHeartbeatAt: number | null;
  /** The model's answer; only the start of a long one. */
  lastHeartbeatText: string | null;
  /** When an answer was last delivered to a channel. */
  lastHeartbeatSentAt: number | null;
  lastActive?: LastActive;
  /** Whether it is turned on. This field and the following ones extend GSV's protocol. */
  on: boolean;
  everyMs: number;
  activeHours: { start: string; end: string; timezone: string };
  /** `last`, `none`, or a channel's name. */
  target: string;
  /** When a tick last skipped the model call. */
  lastSkippedAt?: number;
  lastSkipReason?: SkipReason;
}

/** The heartbeats of all agents, by their ids. */
export type AgentHeartbeats = Record<string, AgentHeartbeat>;
