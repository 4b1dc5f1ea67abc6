import { aboutSession } from "../../../shared/approvals/question.ts";
import { nameOf } from "../../../shared/cron/written-job.ts";
import type { AgentChange } from "../../../shared/protocol/events.ts";
import { showHidden } from "../../../shared/runtime/hidden-characters.ts";
import { logError } from "../../../shared/runtime/log.ts";
import type { CallAddress } from "../../../shared/session/call-address.ts";
import type { Run } from "../../../shared/session/run.ts";
import { comparablePath } from "../../../shared/workspace/workspace-paths.ts";
import type { Agent } from "../agent.ts";
import { tellOwner } from "./ask-owner.ts";

/** Max characters of a name in a message. */
const maxName = 200;

type Arguments = Record<string, unknown>;
type Change = Pick<AgentChange, "kind" | "name">;

/** The tools that can change what later runs obey: the path of the file, or the job, in their arguments. */
const changes: Readonly<Record<string, (args: Arguments) => Change | undefined>> = {
  gsv__WriteFile: ({ path }) => changedFile(path),
  gsv__EditFile: ({ path }) => changedFile(path),
  gsv__DeleteFile: ({ path }) => changedFile(path),
  gsv__Transfer: ({ destination }) => changedFile(/^gsv:(.*)$/s.exec(String(destination))?.[1]),
  gsv__Cron: ({ action, job }) =>
    action === "add" ? { kind: "job", name: String(nameOf(job as Arguments)) } : undefined,
};

/**
 * Tells the owner that the agent itself has created a job, or has changed SOUL.md, AGENTS.md or a skill: the clients, and the
 * direct message as for requests. Clients see a repeat again; the direct message has it once. Does not throw.
 * @param tool the tool's whole name
 * @param args of a call that has succeeded, or of a transfer that has begun
 */
export async function tellChange(
  agent: Agent,
  run: Run,
  { sessionKey, runId, step, callId }: CallAddress,
  { agentId, tool, args }: { agentId: string; tool: string; args: unknown },
): Promise<void> {
  const change = Object.hasOwn(changes, tool) ? changes[tool]?.(args as Arguments) : undefined;
  if (!change) return;
  const event: AgentChange = { agentId, sessionKey, runId, ...change };
  try {
    const clients = await agent.broadcast.clients();
    const id = `change:${runId}:${step}:${callId}`;
    await Promise.all([
      agent.broadcast.send(clients, "agent.changed", event),
      tellOwner(agent, sessionKey, run, id, (to, isElsewhere) =>
        agent.channels.deliver(to, id, textOf(event, isElsewhere)),
      ),
    ]);
  } catch (error) {
    logError("agent.change.untold", error, { sessionKey, runId });
  }
}

function changedFile(path: unknown): Change | undefined {
  const name = comparablePath(String(path));
  const isObeyed = name === "soul.md" || name === "agents.md" || name.startsWith("skills/");
  return isObeyed ? { kind: "file", name: String(path) } : undefined;
}

function textOf({ agentId, kind, name, sessionKey }: AgentChange, isElsewhere: boolean): string {
  const shown = showHidden(name.slice(0, maxName).toWellFormed());
  const what = kind === "job" ? `created the job ${shown}` : `changed ${shown}`;
  return `Note: the agent ${agentId} has ${what}.${isElsewhere ? ` ${aboutSession(sessionKey)}` : ""}`;
}
