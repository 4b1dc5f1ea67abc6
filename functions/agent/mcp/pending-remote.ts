import type { PendingCall } from "../../../shared/session/run.ts";
import type { RemotePlan } from "../tools/native/native-tool.ts";

/** The node of a call that waits for a server: no node has such an id. */
export const answererOf = (server: string): string => `mcp/${server}`;

/** A call as the run waits for it. @param now epoch ms */
export function pendingRemote({ tool, deadlineMs }: RemotePlan, name: string, now: number): PendingCall {
  const { server } = tool;
  return { nodeId: answererOf(server), tool: name, remote: { server, until: now + deadlineMs } };
}
