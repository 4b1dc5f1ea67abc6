import { requestBy } from "../../../shared/approvals/requester.ts";
import { countOpen, pendingRequest } from "../../../shared/approvals/requests.ts";
import { wordsOf } from "../../../shared/mcp/mcp-fault.ts";
import type { ApprovalAnswer, McpRequester } from "../../../shared/protocol/approvals.ts";
import { isRecord } from "../../../shared/protocol/is-record.ts";
import type { CallAddress } from "../../../shared/session/call-address.ts";
import { type PendingCall, type RemoteCall, wordsRead } from "../../../shared/session/run.ts";
import { isSuperseded } from "../../../shared/session/waiting.ts";
import { set } from "../../../shared/world/expression.ts";
import type { ItemValue } from "../../../shared/world/world.ts";
import type { Agent } from "../agent.ts";
import { callsDeadline } from "../model-step.ts";
import { runOf, type SessionWriter } from "../session-writer.ts";
import { maxOpen, requestEnd } from "../tools/request-limits.ts";

/** Max bytes of what a server wants back with the answer: the session's item stores it. */
const maxState = 20_000;

/** A server's questions. `state`: what it wants back; `taskId`: the task that waits for the answer. */
export interface ServerQuestion {
  requests: Record<string, unknown>;
  state?: string;
  taskId?: string;
}

/**
 * Commits that a call waits for the owner's answer to its server's question. The step shows the request next.
 * @returns why nobody is asked
 */
export async function askQuestion(
  agent: Agent,
  writer: Pick<SessionWriter, "commit" | "state" | "sessionKey" | "untold">,
  { callId }: Pick<CallAddress, "callId">,
  { nodeId: _, tool, remote }: PendingCall & { remote: RemoteCall },
  { requests, state, taskId }: ServerQuestion,
): Promise<string | undefined> {
  const { server } = remote;
  const asked = askedOf(requests);
  if ("error" in asked) return `${server} ${asked.error}`;
  if (state !== undefined && Buffer.byteLength(state) > maxState)
    return `${server} asks in a way that cannot be answered here: its state is above ${maxState} bytes`;
  const now = agent.now();
  if (isSuperseded(writer.state)) return "not asked: your human has written something else meanwhile";
  if ((await countOpen(agent.table, now)) >= maxOpen.all)
    return "not asked: too many requests wait for your human";
  const run = runOf(writer);
  const configuration = await agent.configuration.load();
  const requester: McpRequester = {
    kind: "mcp",
    why: `${server} asks before it goes on`,
    tool,
    server,
    ...asked,
  };
  const until = Math.min(remote.until, requestEnd(configuration, run, now));
  const place = { sessionKey: writer.sessionKey, sessionId: writer.state.sessionId, runId: run.runId };
  const request = requestBy(
    requester,
    { ...place, step: run.step, callId },
    { at: now, until, origins: wordsRead(run) },
  );
  const waiting = {
    ...pendingRequest(request, tool),
    remote: {
      ...remote,
      ...(state === undefined ? {} : { state }),
      ...(taskId === undefined ? {} : { taskId }),
    },
  };
  const deadline = callsDeadline(
    run,
    { ...run.pending, [callId]: waiting },
    configuration.timeouts.toolMs,
    now,
  );
  writer.untold.add(request.id);
  await writer.commit([
    set(["run", "pending", callId], waiting as unknown as ItemValue),
    set(["run", "deadline"], deadline),
  ]);
  return undefined;
}

/** What is asked, if an owner can answer it by yes, no and one text. */
function askedOf(
  requests: Record<string, unknown>,
): Pick<McpRequester, "message" | "keys" | "field"> | { error: string } {
  const keys = Object.keys(requests);
  const forms = Object.values(requests).map((one) => (isRecord(one) ? one : {}));
  if (keys.length === 0 || keys.length > 5 || forms.some(({ method }) => method !== "elicitation/create"))
    return { error: "asks for something that nobody can answer here" };
  const params = forms.map((one) => (isRecord(one.params) ? one.params : {}));
  const message = params
    .map(({ message: said, url }) =>
      wordsOf([said, url].filter((part) => typeof part === "string").join(" ")),
    )
    .join(" · ");
  const fields = params.flatMap(({ requestedSchema: schema }) =>
    isRecord(schema) && isRecord(schema.properties) ? Object.keys(schema.properties) : [],
  );
  if (fields.length > 1)
    return {
      error: `asks for several answers at once (${wordsOf(fields.join(", "))}), which only a form can give: ${message}`,
    };
  const [field] = fields;
  return { message, keys, ...(field === undefined ? {} : { field }) };
}

/** How a call goes on after the owner's answer: its server gets it. */
export function afterAnswer(
  { tool, remote }: { tool: string; remote: RemoteCall },
  { keys, field, server }: McpRequester,
  { decision, note }: ApprovalAnswer,
): { pending: PendingCall } | { error: string } {
  if (decision === "allow" && field !== undefined && note === undefined)
    return {
      error: `${server} asks for ${field}, and your human allowed it without saying which: ask for it, and call again`,
    };
  const accepted = { action: "accept", content: field === undefined ? {} : { [field]: fieldValue(note) } };
  const response = decision === "allow" ? accepted : { action: "decline" };
  const { sentAt: _, pollAt: __, ...kept } = remote;
  const answered = [...(remote.answered ?? []), ...keys].slice(-50);
  const responses = JSON.stringify(Object.fromEntries(keys.map((key) => [key, response])));
  return { pending: { nodeId: `mcp/${server}`, tool, remote: { ...kept, responses, answered } } };
}

/** A note as the value of a field: a number or a truth value where it is one. */
function fieldValue(note = ""): unknown {
  if (/^(?:yes|true)$/i.test(note)) return true;
  if (/^(?:no|false)$/i.test(note)) return false;
  return /^-?\d{1,15}(?:\.\d{1,10})?$/.test(note) ? Number(note) : note;
}
