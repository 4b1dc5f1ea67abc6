import { createHash } from "node:crypto";
import { joinOrigins, type Origins, unknownOrigin } from "../origins/origins.ts";
import type { ApprovalAnswer, Requester } from "../protocol/approvals.ts";
import type { Allowances } from "../spend/rules.ts";
import { remove, type Step, set } from "../world/expression.ts";
import type { Configured, InboxEntry, Origin, Overrides, Sender, Task, Writer } from "./inbox-entry.ts";

/** A step is started this often; then its run is given up, because something in it ends the function. */
const maxStarts = 8;

/**
 * A step is started three times at once. The wait before the fourth start; it doubles with each further one, so eight starts
 * last at least half an hour. Milliseconds.
 */
const firstWaitMs = 60_000;
const startsAtOnce = 3;

/** Max length of `notSentTo`. */
const maxNamed = 20;

/** A tool call that was sent to a node, or to another session, and has no result yet. */
export interface PendingCall {
  /** The node, or the session (`answererOf`), that has to answer. */
  nodeId: string;
  tool: string;
  /**
   * The process of the node that runs the call: its `instance`, or empty if it names none. Absent if no process runs it: it
   * waits for a session or a transfer.
   */
  process?: string;
  /** Present when a session has to answer. */
  asked?: AskedSession;
  /** Present when the owner has to allow the call first. */
  approval?: WaitingApproval;
  /** Present when an MCP server has to answer. */
  remote?: RemoteCall;
}

/** A call of a tool of an MCP server. Times in epoch ms. */
export interface RemoteCall {
  server: string;
  /** When it is given up. */
  until: number;
  /** When it was sent. Without a task, an agent that finds it sent cannot know whether it ran. */
  sentAt?: number;
  /** The task at the server, which goes on while nothing runs here, and when the server is asked about it next. */
  taskId?: string;
  pollAt?: number;
  /** After a question of the server: what it wants back, and the owner's answers as JSON, until they are sent. */
  state?: string;
  responses?: string;
  /** Its names for what was answered: a server may repeat these for a moment. */
  answered?: string[];
}

/** The request of a call (`shared/approvals`). Equal calls share one. */
export interface WaitingApproval {
  id: string;
  /** What the answer is about. */
  hash: string;
  /** When it was asked, and when it counts as unanswered. Epoch ms. */
  at: number;
  until: number;
  /** Absent: the policy asks about the call. */
  requester?: Requester;
  /** Until the agent acts on it. */
  answer?: ApprovalAnswer;
}

/** What was decided about a call, and by whom. */
export interface CallDecision {
  decision: "allow" | "ask" | "deny";
  why: string;
  /** Present when the owner was asked. */
  requestId?: string;
  answer?: ApprovalAnswer;
}

/** The message to another session whose answer a call waits for. */
export interface AskedSession {
  sessionKey: string;
  runId: string;
  queued: boolean;
  /** When it was sent, epoch ms. */
  at: number;
  waitSeconds: number;
}

/**
 * The durable state of a run. Phases: `model`: the next action is a model call. `tools`: tool calls are
 * pending, or their results have to be collected. `reply`: the answer or the failure is committed and has to
 * be delivered. Create and change runs only with the functions below.
 */
export interface Run extends Writer, Configured {
  /** The id of the message that started the run. */
  runId: string;
  phase: "model" | "tools" | "reply";
  /** Number of completed model calls. */
  step: number;
  /** How often this step was started: 0 before the first start, more than 1 only after a crash. */
  attempt: number;
  /** When this step may be started again at the earliest, epoch ms. Absent: at once. */
  retryAt?: number;
  /** The attempt that has carried out or sent all calls of this step: an agent that is woken later has none to repeat. */
  sent?: number;
  /** Epoch ms. */
  startedAt: number;
  origin: Origin;
  overrides?: Overrides;
  /** The purpose of the run, when the gateway itself sent its message. */
  task?: Task;
  /** The answer is stored under the run's id (`kept-answer.ts`). */
  keepsAnswer?: true;
  /** The run's message has a voice message. */
  isVoice?: true;
  /** Sessions to which earlier steps, or the sessions that they asked, could not send a message (`session.sendLimit`). */
  notSentTo?: string[];
  pending: Record<string, PendingCall>;
  pendingCount: number;
  /** Small results of this step's calls, as JSON, by call id. Larger results are separate items. */
  results?: Record<string, string>;
  resultBytes?: number;
  /** When pending calls count as timed out; epoch ms. */
  deadline?: number;
  /** Ids of calls that were pending at the deadline. A later result is ignored. */
  timedOut?: string[];
  /** Whose words the run has read, besides the owner's. Absent: an earlier version began or continued it. `wordsRead` reads it. */
  origins?: string[];
  /** Number of calls with an answer to their request that the agent has not acted on. */
  decided?: number;
  /** What was decided about this step's calls, by call id, and when (epoch ms): the log gets it when the calls have ended. */
  decisions?: { at: number; calls: Record<string, CallDecision> };
  /** Number of requests that the owner has denied. */
  denials?: number;
  /** Present while the run waits at a budget's limit, in place of calls: its error if the owner does not allow more. */
  limit?: { error: string; tool: string };
  allowances?: Allowances;
  /** The error text of a failed run, delivered in phase `reply` instead of an answer. */
  failure?: string;
  /**
   * Why this step's model call was made smaller: a compaction ran, or the provider refused the call as too
   * long.
   */
  shrunk?: "compacted" | "refused";
}

/**
 * The new run of a message, before its first model call.
 * @param attempt 1 when the caller calls the model next; 0 when a later iteration does
 */
export function newRun(entry: Extract<InboxEntry, { kind: "message" }>, attempt: 0 | 1, now: number): Run {
  const { id, origin, overrides, task, keepsAnswer, media = [], attachments = [] } = entry;
  return {
    runId: id,
    phase: "model",
    step: 0,
    attempt,
    startedAt: now,
    origin,
    ...writerOf(entry),
    ...configuredBy(entry),
    ...(overrides ? { overrides } : {}),
    ...(task ? { task } : {}),
    ...(keepsAnswer ? { keepsAnswer } : {}),
    ...([...media, ...attachments].some(({ voice }) => voice) ? { isVoice: true } : {}),
    origins: [],
    pending: {},
    pendingCount: 0,
  };
}

/** The person on a channel on whose behalf a run works; undefined for a client's run. */
export function senderOf({
  task,
  origin,
  senderId,
}: Pick<Run, "task" | "origin" | "senderId">): Sender | undefined {
  if (task && task.kind !== "heartbeat" && task.sender) return task.sender;
  const channel =
    task?.kind === "exec" ? task.channel : origin.kind === "channel" ? origin.channel : undefined;
  return channel === undefined || senderId === undefined ? undefined : { channel, senderId };
}

/** The sessions that passed a run's message on. For the end of a command: those of the run that started the command. */
export function askersOf({ task }: Pick<Run, "task">): readonly string[] | undefined {
  return task?.kind === "session" || task?.kind === "exec" ? task.askers : undefined;
}

/**
 * Identifies the message from which a run descends through messages of other sessions and ends of commands: the run's own,
 * if no session sent it.
 */
export function rootOf({ task, runId }: Pick<Run, "task" | "runId">, sessionKey: string): string {
  const root = task?.kind === "session" || task?.kind === "exec" ? task.root : undefined;
  return (
    root ??
    createHash("sha256")
      .update(JSON.stringify([sessionKey, runId]))
      .digest("hex")
      .slice(0, 32)
  );
}

/** Whose words a run has read, besides the owner's: possibly anybody's, if an earlier version began or continued it. */
export function wordsRead({ origins = [unknownOrigin] }: Pick<Run, "origins">): Origins {
  return origins;
}

/** The run after it has read more words. */
export function havingRead(run: Run, origins: Origins): Run {
  return { ...run, origins: joinOrigins(wordsRead(run), origins) };
}

/** The run after its current step was started again at `now`; undefined if it was started too often. */
export function startedAgain({ retryAt: _, ...run }: Run, now: number): Run | undefined {
  const attempt = run.attempt + 1;
  if (attempt > maxStarts) return undefined;
  if (attempt < startsAtOnce || attempt === maxStarts) return { ...run, attempt };
  return { ...run, attempt, retryAt: now + firstWaitMs * 2 ** (attempt - startsAtOnce) };
}

/** Update steps that count the start of a step, and leave the results that its calls get meanwhile. */
export function startSteps({ attempt, retryAt }: Run): Step[] {
  const path = ["run", "retryAt"];
  return [set(["run", "attempt"], attempt), retryAt === undefined ? remove(path) : set(path, retryAt)];
}

/** The calls of a run's step that a server works on as tasks, with the time at which it is asked next. */
export function tasksOf({ phase, pending }: Pick<Run, "phase" | "pending">) {
  if (phase !== "tools") return [];
  return Object.entries(pending).flatMap(([callId, { nodeId, remote, approval }]) =>
    remote?.taskId !== undefined && remote.pollAt !== undefined && !approval
      ? [{ callId, nodeId, remote, taskId: remote.taskId, pollAt: remote.pollAt }]
      : [],
  );
}

/** When the first of a step's tasks is asked about, epoch ms; undefined when it has none. */
export function nextPoll(run: Pick<Run, "phase" | "pending">): number | undefined {
  const times = tasksOf(run).map(({ pollAt }) => pollAt);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Whether the calls of the current step were all carried out or sent. */
export function isSent({ sent, attempt }: Pick<Run, "sent" | "attempt">): boolean {
  return sent === attempt;
}

/**
 * The run after the model has called tools.
 * @param pending the calls sent to nodes, by call id
 * @param deadline epoch ms
 * @param results those that are known already, as JSON
 */
export function waitingFor(
  { retryAt: _, ...run }: Run,
  pending: Record<string, PendingCall>,
  deadline: number,
  results: Record<string, string> = {},
  decisions: Run["decisions"] = undefined,
): Run {
  return {
    ...run,
    ...(decisions ? { decisions } : {}),
    phase: "tools",
    attempt: 1,
    pending,
    pendingCount: Object.keys(pending).length,
    results,
    resultBytes: Object.values(results).reduce((sum, body) => sum + Buffer.byteLength(body), 0),
    deadline,
  };
}

/**
 * The run after the results of its calls were collected; the next model call gets them.
 * @param notSentTo sessions to which these calls, or the sessions that they asked, could not send a message
 */
export function nextStep(run: Run, notSentTo: readonly string[]): Run {
  const unsent = [...new Set([...(run.notSentTo ?? []), ...notSentTo])].slice(0, maxNamed);
  const lasting = Object.entries(run.allowances ?? {}).filter(([, { once }]) => !once);
  return {
    ...carriedOn(run),
    ...(unsent.length > 0 ? { notSentTo: unsent } : {}),
    ...(lasting.length > 0 ? { allowances: Object.fromEntries(lasting) } : {}),
    step: run.step + 1,
    attempt: 1,
  };
}

/** The run after its owner has allowed it to spend more. The caller makes the model call of this step in a later iteration. */
export function allowedMore(run: Run, allowances: Allowances): Run {
  const { step, shrunk, notSentTo } = run;
  return {
    ...carriedOn(run),
    ...(notSentTo ? { notSentTo } : {}),
    ...(shrunk ? { shrunk } : {}),
    allowances: { ...run.allowances, ...allowances },
    step,
    attempt: 0,
  };
}

/** What a run keeps from one model call to the next. */
function carriedOn({ runId, startedAt, origin, overrides, task, keepsAnswer, ...run }: Run) {
  const { origins, denials } = run;
  return {
    runId,
    startedAt,
    origin,
    ...writerOf(run),
    ...configuredBy(run),
    ...(overrides ? { overrides } : {}),
    ...(task ? { task } : {}),
    ...(keepsAnswer ? { keepsAnswer } : {}),
    ...(origins === undefined ? {} : { origins }),
    ...(denials === undefined ? {} : { denials }),
    phase: "model" as const,
    pending: {},
    pendingCount: 0,
  };
}

/** The run after the model's final answer, which has to be delivered. */
export function answered(run: Run): Run {
  return { ...run, phase: "reply", attempt: 1 };
}

/** The run after a failure, which has to be delivered. */
export function failed(run: Run, failure: string): Run {
  return { ...run, phase: "reply", attempt: 1, failure };
}

/**
 * Update steps to retry this step's model call with a smaller context. The call that was too large is not
 * counted.
 */
export function shrinkSteps({ attempt }: Run, shrunk: NonNullable<Run["shrunk"]>): Step[] {
  return [set(["run", "attempt"], attempt - 1), remove(["run", "retryAt"]), set(["run", "shrunk"], shrunk)];
}

function configuredBy({ configurationVersion }: Configured): Configured {
  return configurationVersion === undefined ? {} : { configurationVersion };
}

function writerOf({ role, senderId }: Writer): Writer {
  return { ...(role === undefined ? {} : { role }), ...(senderId === undefined ? {} : { senderId }) };
}
