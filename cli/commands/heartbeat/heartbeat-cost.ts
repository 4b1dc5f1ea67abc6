import type { AgentHeartbeat } from "../../../shared/protocol/agent-heartbeat.ts";
import { dayMs } from "../../../shared/runtime/zoned-time.ts";

/** Tokens that a beat of an agent with its first files sends to the model, on average. docs/costs.md says the same. */
export const tokensOfBeat = 4_700;

/** What a million tokens cost that are sent to Claude Sonnet 4.6, in US dollars. */
const dollarsPerMillion = 3;

type Times = Pick<AgentHeartbeat, "everyMs" | "activeHours">;

/** What a month of an agent's heartbeat costs, in words: its model calls, and the money for what they send. */
export function monthText(times: Times): string {
  const beats = beatsOfMonth(times);
  const dollars = (beats * tokensOfBeat * dollarsPerMillion) / 1e6;
  const money = dollars < 1 ? `$${dollars.toFixed(2)}` : `$${dollars.toFixed(0)}`;
  return (
    `up to ${beats} model calls a month: ${money} or more where a million tokens cost $${dollarsPerMillion}; ` +
    "none while HEARTBEAT.md is empty"
  );
}

/** The beats of 30 days: each interval in the active hours, but at least one at the beginning of each day's hours. */
function beatsOfMonth({ everyMs, activeHours: { start, end } }: Times): number {
  const active = (minutesOf(end) - minutesOf(start)) * 60_000;
  const activeMs = active > 0 ? active : active + dayMs;
  return Math.round(30 * Math.max(activeMs / everyMs, Math.min(1, dayMs / everyMs)));
}

/** @param time `HH:MM` */
function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return hours * 60 + minutes;
}
