import type {
  AgentHeartbeat,
  AgentHeartbeats,
  SkipReason,
} from "../../../shared/protocol/agent-heartbeat.ts";
import { dayMs } from "../../../shared/runtime/zoned-time.ts";
import { durationText, moment, pairs } from "../../app/columns.ts";
import type { Action } from "../../app/program.ts";

export const showHeartbeats: Action = async (context) => {
  const gateway = await context.gateway();
  const status = await gateway.request("heartbeat.status");
  context.print(status, describe(status.agents));
};

export const startHeartbeat: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("heartbeat.start", { agentId: args[0] });
  context.print(result, `${result.message}\n\n${describe(result.agents)}`);
};

export const stopHeartbeat: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("heartbeat.stop", { agentId: args[0] });
  context.print(result, result.message);
};

export const triggerHeartbeat: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("heartbeat.trigger", { agentId: args[0] });
  context.print(result, `${result.message}\n\`gsv heartbeat status\` shows its answer.`);
};

/** Max length of the shown answer, in characters. --json shows more. */
const maxShown = 300;

const reasons: Record<SkipReason, string> = {
  outside_active_hours: "it was after the active hours",
  no_heartbeat_file: "there is no HEARTBEAT.md",
  empty_heartbeat_file: "HEARTBEAT.md contains only headings and comments: add what to do",
  session_busy: "the previous beat was still running",
  budget: "a limit on spending was reached; see gsv budget list",
};

function describe(agents: AgentHeartbeats): string {
  return Object.values(agents).map(describeOne).join("\n\n");
}

function describeOne(agent: AgentHeartbeat): string {
  const { agentId, on, nextHeartbeatAt, lastHeartbeatAt, lastHeartbeatSentAt, lastActive } = agent;
  const sent = lastHeartbeatSentAt === null ? "never" : moment(lastHeartbeatSentAt);
  const place = lastActive && `${lastActive.channel}, ${moment(lastActive.timestamp)}`;
  return pairs([
    ["agent", agentId],
    ["heartbeat", stateOf(agent)],
    ["tells", targetOf(agent)],
    ["costs", on && agent.everyMs > 0 ? monthText(agent) : undefined],
    ["next", on ? moment(nextHeartbeatAt ?? undefined) : undefined],
    [
      "last answer",
      lastHeartbeatAt === null ? "none" : `${moment(lastHeartbeatAt)}: ${shortened(agent.lastHeartbeatText)}`,
    ],
    ["last sent", sent],
    ["last skipped", skippedOf(agent)],
    ["last channel", place ?? "none"],
  ]);
}

function shortened(text: string | null): string {
  const shown = text ?? "";
  return shown.length > maxShown ? `${shown.slice(0, maxShown).toWellFormed()} …` : shown;
}

function stateOf({ on, everyMs, activeHours: { start, end, timezone } }: AgentHeartbeat): string {
  if (everyMs === 0) return "switched off in the configuration (every is 0)";
  const times = `every ${durationText(everyMs)} from ${start} to ${end} (${timezone})`;
  return on ? `on, ${times}` : `off; \`gsv heartbeat start\` turns it on, ${times}`;
}

function targetOf({ target }: AgentHeartbeat): string {
  if (target === "last") return "an owner, where they last wrote directly";
  return target === "none" ? "nobody; clients see its answers" : `an owner, on ${target}`;
}

function skippedOf({ lastSkippedAt, lastSkipReason }: AgentHeartbeat): string | undefined {
  if (lastSkippedAt === undefined || lastSkipReason === undefined) return undefined;
  return `${moment(lastSkippedAt)}: ${reasons[lastSkipReason]}`;
}

/** Average number of tokens that a beat sends to the model, for an agent with its initial files. As in docs/costs.md. */
export const tokensOfBeat = 4_000;

/** Price of a million input tokens of Claude Sonnet 4.6, in US dollars. */
const dollarsPerMillion = 3;

type Times = Pick<AgentHeartbeat, "everyMs" | "activeHours">;

/** Describes the monthly cost of an agent's heartbeat: its model calls, and the price of their input. */
function monthText(times: Times): string {
  const beats = beatsOfMonth(times);
  const dollars = (beats * tokensOfBeat * dollarsPerMillion) / 1e6;
  const money = dollars < 1 ? `$${dollars.toFixed(2)}` : `$${dollars.toFixed(0)}`;
  return (
    `up to ${beats} model calls a month: ${money} or more at $${dollarsPerMillion} for a million tokens; ` +
    "none while HEARTBEAT.md is empty"
  );
}

/** Number of beats in 30 days: one per interval within the active hours, and at least one per day with active hours. */
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
