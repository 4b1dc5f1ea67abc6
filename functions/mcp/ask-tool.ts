import { createHash, randomUUID } from "node:crypto";
import type { GatewayLink } from "../../shared/peers/gateway-link.ts";
import { errorResult, type ToolResult, textResult } from "./program-result.ts";

/** How long a client may ask for a task, in milliseconds: as long as the gateway keeps an answer. */
const keptMs = 7 * 86_400_000;

/** The pause that a client is asked to make between two looks at a task, in milliseconds. */
const pollMs = 5000;

/** Max time that a call without a task waits, in milliseconds: an HTTP API waits 29 s. */
const maxWaitMs = 22_000;

/** Pauses between two looks at a run, in milliseconds; the last is repeated. */
const pausesMs = [300, 700, 1000, 2000, 3000];

/** A run that was asked for, as the id of its task has it. */
interface Asked {
  session: string;
  runId: string;
  /** Epoch milliseconds. */
  at: number;
}

export interface AskArguments {
  message: string;
  session?: string | undefined;
  id?: string | undefined;
}

/** A task of the extension `io.modelcontextprotocol/tasks`. */
export interface TaskState {
  taskId: string;
  status: "working" | "completed";
  createdAt: string;
  lastUpdatedAt: string;
  ttlMs: number;
  pollIntervalMs: number;
  result?: ToolResult;
}

/**
 * Sends a message to the agent. A run with this id is not begun again.
 * @param program the token's id: programs do not share ids
 * @returns the run, or the answer of a command
 * @throws PeerError
 */
export async function beginAsk(
  link: GatewayLink,
  program: string,
  { message, session = "default", id }: AskArguments,
  now: number,
): Promise<Asked | ToolResult> {
  const own = id === undefined ? undefined : createHash("sha256").update(`${program} ${id}`).digest("hex");
  const asked = { session, runId: `mcp-${own ?? randomUUID()}`, at: now };
  if (own !== undefined) {
    const { status } = await link.request("chat.result", { sessionKey: session, runId: asked.runId });
    if (status !== "unknown") return asked;
  }
  const { runId } = asked;
  const sent = await link.request("chat.send", { sessionKey: session, message, runId, keepAnswer: true });
  if (sent.status === "started") return asked;
  if ("error" in sent && sent.error !== undefined) return errorResult(sent.error);
  return textResult(sent.response ?? "Done.");
}

/** How a run has ended; undefined while it works. */
async function endOf(
  link: GatewayLink,
  { session, runId }: Asked,
): Promise<ToolResult | "unknown" | undefined> {
  const outcome = await link.request("chat.result", { sessionKey: session, runId });
  switch (outcome.status) {
    case "done":
      return textResult(outcome.text);
    case "failed":
      return errorResult(outcome.error);
    case "unknown":
      return "unknown";
    default:
      return undefined;
  }
}

/**
 * Waits for the answer to a message.
 * @param id the caller's own id; without it, the result names one
 */
export async function waitForAnswer(
  link: GatewayLink,
  asked: Asked,
  id: string | undefined,
  clock: { now(): number; pause(ms: number): Promise<boolean> },
): Promise<ToolResult> {
  const until = clock.now() + maxWaitMs;
  for (let looks = 0; clock.now() < until; looks++) {
    const end = await endOf(link, asked);
    if (end === "unknown") return errorResult("the run has ended without an answer");
    if (end) return end;
    if (!(await clock.pause(pausesMs[Math.min(looks, pausesMs.length - 1)] ?? 0))) break;
  }
  const next =
    id === undefined
      ? "Its answer will be in its conversation; to be able to ask for it, give the next message an id."
      : `Call ask again with the same id, ${JSON.stringify(id)}, to get the answer.`;
  return textResult(`The agent is still working. ${next}`, { status: "working", ...(id ? { id } : {}) });
}

/** The handle of a task. It names the run, so no state is kept for it. */
export function taskOf(asked: Asked, now: number): TaskState {
  return {
    taskId: Buffer.from(JSON.stringify([asked.session, asked.runId, asked.at])).toString("base64url"),
    status: "working",
    createdAt: new Date(asked.at).toISOString(),
    lastUpdatedAt: new Date(now).toISOString(),
    ttlMs: keptMs,
    pollIntervalMs: pollMs,
  };
}

/** The run of a task; undefined for an id that this gateway did not make. */
export function readTaskId(taskId: string): Asked | undefined {
  try {
    const [session, runId, at] = JSON.parse(Buffer.from(taskId, "base64url").toString("utf8"));
    const isValid = typeof session === "string" && /^mcp-[\w-]{36,64}$/.test(String(runId));
    return isValid && Number.isSafeInteger(at) && Math.abs(at) < 8.64e15 ? { session, runId, at } : undefined;
  } catch {
    return undefined;
  }
}

/** The state of a task; undefined if its run is unknown to this program's conversations. @throws PeerError */
export async function lookAtTask(
  link: GatewayLink,
  asked: Asked,
  now: number,
): Promise<TaskState | undefined> {
  const end = await endOf(link, asked);
  if (end === "unknown") return undefined;
  const task = taskOf(asked, now);
  return end ? { ...task, status: "completed", result: end } : task;
}

/** Stops the run of a task, if it has not ended. */
export async function cancelTask(link: GatewayLink, { session, runId }: Asked): Promise<void> {
  await link.request("chat.send", { sessionKey: session, message: `/stop ${runId}` });
}
