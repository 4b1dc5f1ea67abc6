import { McpFault } from "../../../shared/mcp/mcp-fault.ts";
import { outcomeOf } from "../../../shared/mcp/result-content.ts";
import type { RemoteTask } from "../../../shared/mcp/task-wire.ts";
import { webOrigin } from "../../../shared/origins/origins.ts";
import { log, logError } from "../../../shared/runtime/log.ts";
import type { CallAddress } from "../../../shared/session/call-address.ts";
import { type CallOutcome, recordResult, schedulePoll } from "../../../shared/session/calls.ts";
import { type RemoteCall, type Run, tasksOf } from "../../../shared/session/run.ts";
import { set } from "../../../shared/world/expression.ts";
import type { ItemValue } from "../../../shared/world/world.ts";
import type { Agent } from "../agent.ts";
import type { SessionWriter } from "../session-writer.ts";
import type { RemotePlan } from "../tools/native/native-tool.ts";
import { answererOf } from "./pending-remote.ts";
import { askQuestion, type ServerQuestion } from "./server-questions.ts";

/** A planned call of a server's tool. */
export interface RemoteCalls {
  address: CallAddress;
  remote: RemotePlan;
}

type Writer = Pick<SessionWriter, "interrupted" | "commit" | "state" | "sessionKey" | "untold">;

/**
 * Sends calls to their servers, in parallel. An answer is recorded at once. A task is noted in the session, which is then released:
 * the Scheduler wakes the agent to ask about it. A call that an earlier invocation has sent is not sent again, unless it may be.
 */
export async function carryOutRemote(
  agent: Agent,
  writer: Writer,
  run: Run,
  calls: readonly RemoteCalls[],
): Promise<void> {
  const isTask = ({ address: { callId } }: RemoteCalls) => run.pending[callId]?.remote?.taskId !== undefined;
  await Promise.all(calls.filter(isTask).map(({ address }) => sendAnswers(agent, writer, run, address)));
  const unsent = calls.filter((one) => !isTask(one));
  if (unsent.length === 0) return;
  const wasSent = new Set(
    unsent.flatMap(({ address: { callId } }) =>
      run.pending[callId]?.remote?.sentAt === undefined ? [] : [callId],
    ),
  );
  await writer.commit(
    unsent.map(({ address: { callId } }) => set(["run", "pending", callId, "remote", "sentAt"], agent.now())),
  );
  await Promise.all(unsent.map((one) => send(agent, writer, run, one, wasSent.has(one.address.callId))));
}

async function send(
  agent: Agent,
  writer: Writer,
  run: Run,
  { address, remote }: RemoteCalls,
  wasSent: boolean,
): Promise<void> {
  const { tool, args, timeoutMs, repeatable, refused } = remote;
  const { server } = tool;
  const { sessionKey, runId, callId } = address;
  const waiting = run.pending[callId]?.remote;
  if (!waiting) return;
  const record = (outcome: CallOutcome) =>
    recordResult(agent, address, answererOf(server), outcome, agent.now());
  if (refused !== undefined) return void (await record({ error: refused, origins: [] }));
  if (wasSent && !repeatable)
    return void (await record({ error: "interrupted, outcome unknown", origins: [] }));
  log("tool.remote", { sessionKey, runId, callId, server });
  try {
    const { state, responses } = waiting;
    const given =
      responses === undefined
        ? undefined
        : { responses: JSON.parse(responses), ...(state === undefined ? {} : { state }) };
    const answer = await agent.remoteTools.call(tool, args, timeoutMs, writer.interrupted, given);
    if (answer.kind === "task") return await follow(agent, writer, run, address, waiting, answer.task);
    if (answer.kind === "question") {
      const { requests, state: next } = answer;
      const { state: _, responses: __, ...kept } = waiting;
      return await ask(agent, writer, run, address, kept, {
        requests,
        ...(next === undefined ? {} : { state: next }),
      });
    }
    await record({ ...outcomeOf(answer.result), origins: await originsOf(agent, server) });
  } catch (error) {
    if (writer.interrupted.aborted) return;
    await record(await failureOf(agent, server, error));
  }
}

/** Asks servers about the tasks of a run that are due, and records what has ended. */
export async function pollRemote(agent: Agent, writer: Writer, run: Run): Promise<void> {
  const { sessionKey } = writer;
  const due = tasksOf(run).filter(({ pollAt }) => pollAt <= agent.now());
  const polls = due.map(async ({ callId, remote, taskId }) => {
    const { server } = remote;
    const address = { sessionKey, runId: run.runId, step: run.step, callId };
    try {
      await follow(agent, writer, run, address, remote, await agent.remoteTools.task(server, taskId));
    } catch (error) {
      const isPassing = error instanceof McpFault && error.isPassing && agent.now() < remote.until;
      if (isPassing) return note(agent, writer, address, remote, { taskId, pollMs: retryMs });
      const failure = await failureOf(agent, server, error);
      await recordResult(agent, address, answererOf(server), failure, agent.now());
    }
  });
  await Promise.all(polls);
}

/** How soon a server is asked again that could not be reached, and the shortest wait of a released session. */
const retryMs = 60_000;

/** Records the end of a task, or records when its server is asked next. */
async function follow(
  agent: Agent,
  writer: Writer,
  run: Run,
  address: CallAddress,
  remote: RemoteCall,
  task: RemoteTask,
): Promise<void> {
  const { server, until } = remote;
  const record = (outcome: CallOutcome) =>
    recordResult(agent, address, answererOf(server), outcome, agent.now());
  switch (task.status) {
    case "completed":
      await record({ ...outcomeOf(task.result), origins: await originsOf(agent, server) });
      return;
    case "failed":
    case "cancelled":
      await record({
        error: `${server}: the task ${task.status}: ${task.reason}`,
        origins: await originsOf(agent, server),
      });
      return;
    case "input_required":
      if (Object.keys(task.requests).every((key) => remote.answered?.includes(key)))
        return note(agent, writer, address, remote, task);
      return ask(agent, writer, run, address, remote, { requests: task.requests, taskId: task.taskId });
    case "working":
      if (agent.now() < until) return note(agent, writer, address, remote, task);
      await cancelTask(agent, server, task.taskId);
      await record({
        error: `${server} did not finish its task in time; it was asked to cancel it`,
        origins: [],
      });
  }
}

/** Asks the owner a server's question. If nobody can be asked, the call ends with the reason. */
async function ask(
  agent: Agent,
  writer: Writer,
  run: Run,
  address: CallAddress,
  remote: RemoteCall,
  question: ServerQuestion,
): Promise<void> {
  const { server } = remote;
  const tool = run.pending[address.callId]?.tool ?? "";
  const waiting = { nodeId: answererOf(server), tool, remote };
  const error = await askQuestion(agent, writer, address, waiting, question);
  if (error === undefined) return;
  if (question.taskId !== undefined) await cancelTask(agent, server, question.taskId);
  const outcome = { error, origins: await originsOf(agent, server) };
  await recordResult(agent, address, answererOf(server), outcome, agent.now());
}

/** Sends the owner's answers to a task, and looks at it. A repeat is ignored by its server. */
async function sendAnswers(agent: Agent, writer: Writer, run: Run, address: CallAddress): Promise<void> {
  const { remote } = run.pending[address.callId] ?? {};
  if (remote?.taskId === undefined || remote.responses === undefined) return;
  const { responses, state: _, ...kept } = remote;
  const { server, taskId } = remote;
  try {
    await agent.remoteTools.answer(server, taskId, JSON.parse(responses) as Record<string, unknown>);
    await note(agent, writer, address, kept, { taskId, pollMs: 1000 });
  } catch (error) {
    const failure = await failureOf(agent, server, error);
    await recordResult(agent, address, answererOf(server), failure, agent.now());
  }
}

/** Notes a task, and schedules the next question about it. */
async function note(
  agent: Agent,
  writer: Writer,
  { sessionKey, callId }: CallAddress,
  remote: RemoteCall,
  { taskId, pollMs }: Pick<RemoteTask, "taskId" | "pollMs">,
): Promise<void> {
  const now = agent.now();
  const noted = {
    ...remote,
    sentAt: remote.sentAt ?? now,
    taskId,
    pollAt: Math.min(now + pollMs, Math.max(now, remote.until)),
  };
  const state = await writer.commit([
    set(["run", "pending", callId, "remote"], noted as unknown as ItemValue),
  ]);
  if (state.run) await schedulePoll(agent, sessionKey, state.run);
}

/** Asks a server to cancel a task. Does not throw. @returns whether the server accepted that */
export async function cancelTask(agent: Agent, server: string, taskId: string): Promise<boolean> {
  try {
    await agent.remoteTools.cancel(server, taskId);
    return true;
  } catch (error) {
    logError("mcp.uncancelled", error, { server });
    return false;
  }
}

/** A server's words are those of its host. */
async function originsOf(agent: Agent, server: string): Promise<string[]> {
  const { mcp } = await agent.configuration.load({ anyAge: true });
  const { url } = mcp.servers[server] ?? {};
  return [webOrigin(url === undefined ? "" : new URL(url).hostname)];
}

async function failureOf(agent: Agent, server: string, error: unknown): Promise<CallOutcome> {
  if (error instanceof McpFault) return { error: error.message, origins: await originsOf(agent, server) };
  logError("mcp.failed", error, { server });
  return { error: "internal error", origins: [] };
}
