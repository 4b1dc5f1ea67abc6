import { afterAll, beforeAll, beforeEach } from "vitest";
import type { Agent } from "../../../functions/agent/agent.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { expireTools, pollTasks, remindOfRequests, type Timer } from "../../../functions/timer/timer.ts";
import { answerRequest } from "../../../shared/approvals/answer.ts";
import { listOpen } from "../../../shared/approvals/requests.ts";
import type { ChannelOrigin } from "../../../shared/channels/channel.ts";
import { sourceOf } from "../../../shared/channels/channel.ts";
import type { ToolApproval } from "../../../shared/configuration/tool-approval.ts";
import { bindPeer, openConnection } from "../../../shared/peers/registry.ts";
import { createToken } from "../../../shared/peers/tokens.ts";
import type { AnswerResult, ApprovalAnswer } from "../../../shared/protocol/approvals.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import type { TimerEvent } from "../../../shared/world/world.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, immortal, Killed, type Life, mortal, openBench, userTimezone } from "../bench.ts";

interface ApprovalBench {
  state: State;
  bench: Bench;
  /** The model's next replies; then it answers "done". */
  replies: Reply[];
  schedules: { at: number; event: TimerEvent }[];
  woken: string[];
  /** Messages on channels. */
  sent: { to: ChannelOrigin; id: string; text: string }[];
  /** Of the test. */
  sessionKey: string;
}

/** An agent with the node `pi` and the client `laptop`; it asks before everything except reading. */
export const on = {} as ApprovalBench;

export const probe = { name: "pi__probe", arguments: { of: "it" } };
export const write = { name: "gsv__WriteFile", arguments: { path: "asked.md", content: "whole" } };
export const read = { name: "gsv__ReadFile", arguments: { path: "" } };
export const tool = (name: string) => ({ name, description: "", inputSchema: { type: "object" } });
let sessions = 0;

/** Starts the bench for the tests of a file. */
export function useApprovalBench(): void {
  let model: ModelServer;
  beforeAll(async () => {
    on.state = await startState();
    model = await startOpenAiServer(async () => on.replies.shift() ?? { text: "done" });
    on.bench = openBench(on.state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
    on.bench.configuration = { ...on.bench.configuration, userTimezone };
    await connect("pi", "node");
    await connect("laptop", "client");
  });
  beforeEach(() => {
    otherSession();
    Object.assign(on, { replies: [], schedules: [], woken: [], sent: [] });
    on.bench.posted.length = 0;
    on.bench.later = 0;
    approving({ mode: "ask" });
  });
  afterAll(async () => {
    await on.state?.close();
    await model?.close();
  });
}

async function connect(id: string, mode: "node" | "client"): Promise<void> {
  const { table } = on.state;
  const record = { connectionId: `${id}-1`, openedAt: Date.now(), frames: 0 };
  await openConnection(table, record);
  await bindPeer(table, record, {
    ...{ id, mode, version: "1", platform: "test", connectionId: `${id}-1`, connectedAt: Date.now() },
    tokenId: (await createToken(table, { name: id, scopes: [mode] }, 1)).id,
    ...(mode === "node" ? { tools: ["probe", "other", "Bash"].map(tool) } : {}),
  });
}

/** Continues in a new session. */
export function otherSession(): void {
  on.sessionKey = `agent:main:t${++sessions}`;
}

/** Sets `toolApproval`. */
export function approving(changes: Partial<ToolApproval>): void {
  const usual = { nodes: {}, defaultDecision: "byClass", rules: [], expireAfter: "24h", remindAfter: "1h" };
  const toolApproval = { ...usual, mode: "off", ...changes } as ToolApproval;
  on.bench.configuration = { ...on.bench.configuration, toolApproval };
}

/** Mode `off`, and a rule that asks before the tool `probe`. */
export const askingForProbe = () => approving({ rules: [{ id: "r", tool: "*probe", decision: "ask" }] });

/** Payloads of the events of a name that a connection received. */
export const framesFor = (connection: string, name: string) =>
  on.bench.posted.flatMap(({ connectionId, frame }) => {
    const { event, payload } = frame as { event?: string; payload: Record<string, unknown> };
    return connectionId === connection && event === name ? [payload] : [];
  });
/** The number of calls that the node has received, by their id on the wire. */
export const ran = () => new Set(framesFor("pi-1", "tool.invoke").map((payload) => payload.callId)).size;
/** Events of the client. */
export const events = (name: string) => framesFor("laptop-1", name);
export const results = (messages: readonly Message[]) =>
  messages.filter(({ role }) => role === "toolResult").map(textOf);
export const runOf = async () => (await on.bench.state(on.sessionKey))?.run;
export const openHere = async () =>
  (await listOpen(on.state.table, now())).filter((one) => one.sessionKey === on.sessionKey);
export const now = () => Date.now() + on.bench.later;
const wake = async (key: string) => void on.woken.push(key);

export async function say(
  text: string,
  more: Partial<Extract<InboxEntry, { kind: "message" }>> = {},
): Promise<void> {
  const entry = { id: text, at: 1, origin: { kind: "client" }, kind: "message", text, ...more } as const;
  await on.bench.submit(on.sessionKey, entry);
}

const once: Agent["schedules"]["once"] = async (_, at, event) => void on.schedules.push({ at, event });

/** Invokes the agent once. The next invocation starts after its lease has expired. */
export async function invoke(life: Life = immortal()): Promise<void> {
  const agent = on.bench.agent(life);
  const deliver: Agent["channels"]["deliver"] = async (to, id, text) => {
    on.sent.push({ to, id, text: sourceOf(text) });
    return { ok: true };
  };
  const ask: Agent["channels"]["ask"] = async (to, id, question) => deliver(to, id, question({}).text);
  const channels = { ...agent.channels, deliver, ask };
  try {
    await holdSession({ ...agent, channels, schedules: { once } }, on.sessionKey, () => 900_000);
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  } finally {
    on.bench.later += 31_000;
  }
}

/** Starts a run whose first reply makes these calls. */
export async function asked(...calls: { name: string; arguments: Record<string, unknown> }[]): Promise<void> {
  on.replies = [{ toolCalls: calls }];
  await say(`go ${on.bench.later}`);
  await invoke();
}

/** Answers the session's oldest request, or another one. */
export async function answer(
  decision: "allow" | "deny",
  more: Partial<ApprovalAnswer> & { id?: string; life?: Life } = {},
): Promise<AnswerResult> {
  const { life = immortal(), id = (await openHere())[0]?.id ?? "", ...given } = more;
  const table = mortal(on.state.table, "table", life);
  const full = { decision, scope: "once", by: "client laptop", at: now(), ...given } as const;
  return (await answerRequest({ table, wake }, id, full)).result;
}

function timer(): Timer {
  const { table, configuration, sockets } = on.bench.agent();
  const unused = { files: { read: async () => undefined }, sweepMemories: async () => {} };
  return { ...unused, table, sockets, schedules: { once }, configuration, wake, now } as Timer;
}

/** Fires the newest schedule of a kind at its time. */
export async function fire(kind: TimerEvent["kind"]): Promise<void> {
  const due = on.schedules.findLast(({ event }) => event.kind === kind)!;
  on.bench.later += Math.max(0, due.at - now());
  if (due.event.kind === "tool-timeout") await expireTools(timer(), due.event);
  if (due.event.kind === "approval-reminder") await remindOfRequests(timer(), due.event);
  if (due.event.kind === "task-poll") await pollTasks(timer(), due.event);
}
