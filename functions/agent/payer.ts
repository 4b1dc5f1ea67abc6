import { ownValue } from "../../shared/channels/account.ts";
import { senderRole } from "../../shared/channels/inbound/sender-role.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import { keyRules } from "../../shared/session/key/routing.ts";
import { agentIdOf, sessionKind } from "../../shared/session/key/session-key.ts";
import type { Run } from "../../shared/session/run.ts";
import type { CallKind, Payer } from "../../shared/spend/rules.ts";
import type { Occasion } from "../../shared/spend/session-account.ts";
import { audienceOf } from "../../shared/workspace/privacy.ts";

/** Who pays for calls, and who reads why one is refused. */
export type Paying = Pick<Occasion, "payer" | "isPublic">;

/** What decides about it in a run, or in the message that begins it. */
type Begun = Pick<Run, "runId" | "role" | "senderId" | "origin" | "task" | "allowances">;

/** A run's calls. */
export function payingFor(configuration: Configuration, run: Begun, sessionKey: string): Paying {
  return { payer: payerOf(run, sessionKey), isPublic: isPublic(configuration, sessionKey, run) };
}

/** Calls that keep a session in order. @param run the run that needs them */
export function maintaining(configuration: Configuration, sessionKey: string, run?: Run): Paying {
  const { runId, allowances } = run ?? {};
  const ofRun = { ...(runId === undefined ? {} : { runId }), ...(allowances ? { allowances } : {}) };
  return {
    payer: { kind: "maintenance", agentId: agentIdOf(sessionKey), sessionKey, ...ofRun },
    isPublic: isPublic(configuration, sessionKey, run),
  };
}

/** On whose account a run's model calls go. */
export function payerOf(
  { runId, role, senderId, origin, task, allowances }: Begun,
  sessionKey: string,
): Payer {
  return {
    kind: kindOf({ role, task }),
    ...{ agentId: agentIdOf(sessionKey), sessionKey, runId },
    ...(allowances ? { allowances } : {}),
    ...(origin.kind === "channel" ? { channel: origin.channel } : {}),
    ...(senderId === undefined ? {} : { senderId }),
    ...(task?.kind === "cron" ? { jobId: task.jobId } : {}),
  };
}

function kindOf({ role, task }: Pick<Run, "role" | "task">): CallKind {
  if (role === "guest") return "guest";
  return task?.kind === "heartbeat" || task?.kind === "cron" ? task.kind : "turn";
}

/** Whether somebody who is no owner may read a refusal: in the conversation, or where the run's answer goes. */
function isPublic(configuration: Configuration, sessionKey: string, run?: Begun): boolean {
  const audience = audienceOf(sessionKind(sessionKey, keyRules(configuration)));
  if (audience === "shared" || run?.role === "guest") return true;
  const { origin, task } = run ?? {};
  const to = task?.kind === "heartbeat" ? task.to : origin;
  if (to?.kind !== "channel" || to.owner) return false;
  if (to.peer.kind !== "dm") return true;
  // Where an owner has just written is the owner's; a job's target may be anybody's.
  const isPlanned = task?.kind === "heartbeat" || task?.kind === "cron";
  const settings = ownValue(configuration.channels, to.channel);
  return isPlanned && senderRole(to.channel, settings, to.peer.id) !== "owner";
}
