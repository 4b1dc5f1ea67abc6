import type { InboxEntry } from "./inbox-entry.ts";
import type { Run, WaitingApproval } from "./run.ts";

/** A call of a run that waits for the owner's answer, or has one that the agent has not acted on. */
export interface WaitingRequest {
  callId: string;
  tool: string;
  approval: WaitingApproval;
}

/** The requests of a run's step, with and without an answer. */
export function requestsOf(run: Pick<Run, "pending"> | undefined): WaitingRequest[] {
  return Object.entries(run?.pending ?? {}).flatMap(([callId, { tool, approval }]) =>
    approval ? [{ callId, tool, approval }] : [],
  );
}

/** The requests of a run's step that nobody has answered. */
export function waitingRequests(run: Pick<Run, "pending"> | undefined): WaitingRequest[] {
  return requestsOf(run).filter(({ approval }) => !approval.answer);
}

/** Whether an entry shows that the owner wants something else: then requests of the session's run are set aside. */
function setsAside(entry: InboxEntry): boolean {
  const { origin, kind, role } = entry;
  if (role === "guest" || (origin.kind === "channel" && origin.peer.kind !== "dm")) return false;
  if (kind === "message") return entry.task === undefined;
  return (kind === "reset" || kind === "compact") && entry.via !== "policy";
}

/** Whether the owner waits for something else already: then a run opens no request. */
export function isSuperseded({ inbox }: { inbox: readonly InboxEntry[] }): boolean {
  return inbox.some(setsAside);
}

/** Whether the run's open requests are to be set aside for a later entry. */
export function isSetAside({ run, inbox }: { run?: Run; inbox: readonly InboxEntry[] }): boolean {
  return run?.phase === "tools" && isSuperseded({ inbox }) && waitingRequests(run).length > 0;
}
