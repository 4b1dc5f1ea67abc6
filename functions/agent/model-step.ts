import { repairTranscript } from "../../shared/objects/wire-messages.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { stepDeadline } from "../../shared/session/asked-session.ts";
import { givenUpAt } from "../../shared/session/calls.ts";
import type { PendingCall, Run } from "../../shared/session/run.ts";
import type { SessionState } from "../../shared/session/state.ts";
import { requestsOf, waitingRequests } from "../../shared/session/waiting.ts";
import type { CallSize, Occasion, Refusal } from "../../shared/spend/session-account.ts";
import type { Agent } from "./agent.ts";
import { type ConnectedPeers, freshPeersMs } from "./context/connected-peers.ts";
import type { Cut } from "./context/context-fit.ts";
import { requestCharacters } from "./context/context-size.ts";
import { type Prepared, plainTail, prepareRequest, type TurnContext } from "./context/model-request.ts";
import type { ModelOutcome } from "./model/model-call.ts";
import { callSize, priceNames } from "./model/paid-call.ts";
import { describeModel } from "./model/resolve-model.ts";
import { payingFor } from "./payer.ts";
import { streamDeltas } from "./reply/deltas.ts";
import type { SessionWriter } from "./session-writer.ts";
import { whileTyping } from "./typing.ts";

/** A planned model call. */
export interface ModelCallPlan {
  /** The whole transcript, including the messages that the step appends. */
  messages: readonly Message[];
  /** The last message is a user message that the step appends. */
  isNew?: boolean;
  /** The peers of this call are read at this time or later, epoch ms. */
  peersSince: number;
}

/** Why the model is not called. */
export type Uncalled = { tail?: string } /** The conversation is compacted first. */ & (
  | { status: "compact"; cut: Cut }
  | ({ status: "failed"; overflow: false } & Refusal)
  /** Preparing the request threw an error of our own. */
  | { status: "broken"; error: unknown }
);

/** The model's outcome for a prepared request. */
export type AskedModel = ModelOutcome & {
  prepared: Prepared;
  /** Resolves when the last text of the answer was sent to the clients. Does not reject. */
  streamed: Promise<void>;
};

/** Prepares the request of a model call. Does not throw. */
export async function prepareCall(
  agent: Agent,
  { state, account }: Pick<SessionWriter, "state" | "account">,
  run: Run,
  { messages, isNew = false, peersSince }: ModelCallPlan,
  peers: ConnectedPeers,
): Promise<Prepared | Uncalled> {
  try {
    const newest = { messages, isNew };
    const prepared = await prepareRequest(agent, state, run, newest, peers.known(peersSince));
    const failed = { ...prepared, status: "failed", overflow: false } as const;
    if (prepared.status === "too long") return { ...failed, error: prepared.error };
    if (prepared.status !== "fits") return prepared;
    if (timeLeft(run, agent.now()) <= 0) return { ...failed, error: timeOverText };
    const admission = await account.prepare(
      occasionOf(state, run, prepared.turn),
      await sizeOfTurn(state, prepared),
    );
    return admission.status === "refused" ? { ...admission, ...failed } : prepared;
  } catch (error) {
    const tail = isNew ? await plainTail(agent, run).catch(() => undefined) : undefined;
    return { status: "broken", error, ...(tail === undefined ? {} : { tail }) };
  }
}

/** Calls the model. Meanwhile streams its text to the clients, shows "typing" on the channel, and stores the prompt's text. */
export async function askModel(
  agent: Agent,
  writer: SessionWriter,
  peers: ConnectedPeers,
  run: Run,
  prepared: Prepared,
): Promise<AskedModel> {
  const { sessionKey, state, account, interrupted } = writer;
  const wokenAt = writer.takeWake();
  const { turn, before, request, after, retention } = prepared;
  const { sessionId, settings } = state;
  const deltas = streamDeltas(agent, sessionKey, run, () => peers.clients(agent.now() - freshPeersMs));
  const call = () =>
    agent.callModel({
      payment: { account, occasion: occasionOf(state, run, turn) },
      model: turn.model,
      ...(turn.thinkingLevel ? { thinkingLevel: turn.thinkingLevel } : {}),
      ...(settings.maxTokens ? { maxTokens: settings.maxTokens } : {}),
      systemPrompt: turn.prompt.text,
      messages: repairTranscript([...before, ...request.messages, ...after]),
      tools: turn.tools,
      sessionId,
      cacheRetention: retention,
      signal: interrupted,
      timeoutMs: Math.min(turn.configuration.timeouts.llmMs, timeLeft(run, agent.now())),
      ...(wokenAt === undefined ? {} : { wokenAt }),
      onText: deltas.add,
      onRepeat: deltas.repeat,
    });
  const [outcome] = await Promise.all([
    whileTyping(agent, run.origin, call),
    agent.promptCache.store(state, turn.agentId, turn.prompt),
  ]);
  const isOver = outcome.status === "failed" && timeLeft(run, agent.now()) <= 0;
  const counted: ModelOutcome = isOver ? { status: "failed", error: timeOverText, overflow: false } : outcome;
  return { ...counted, prepared, streamed: deltas.end() };
}

function occasionOf({ sessionKey }: SessionState, run: Run, turn: TurnContext): Occasion {
  return { ...payingFor(turn.configuration, run, sessionKey), ...priceNames(turn.model) };
}

async function sizeOfTurn(
  { settings, contextTokens, tokensPerCharacter }: SessionState,
  { turn, request, retention }: Prepared,
): Promise<CallSize> {
  const planned = {
    characters: requestCharacters(request),
    measured: { contextTokens, tokensPerCharacter },
    maxTokens: settings.maxTokens,
    thinkingLevel: turn.thinkingLevel,
    cacheRetention: retention,
  };
  return callSize(planned, await describeModel(turn.model));
}

/** The error of a run that exceeded its task's time limit. */
const timeOverText = "this job's time limit is over";

/** Milliseconds that a run may still take; infinite when its task sets no limit. */
export function timeLeft({ task, startedAt }: Pick<Run, "task" | "startedAt">, now: number): number {
  const timeoutMs = task?.kind === "cron" ? task.timeoutMs : undefined;
  return timeoutMs === undefined ? Number.POSITIVE_INFINITY : startedAt + timeoutMs - now;
}

/**
 * When the calls of a run's step time out, epoch ms. The gateway waits for a node's call for at most `toolMs`, and never
 * beyond the time limit of the run's task. If all calls wait for the owner or for MCP servers: when the first of these waits ends.
 */
export function callsDeadline(
  run: Pick<Run, "task" | "startedAt">,
  pending: Readonly<Record<string, PendingCall>>,
  toolMs: number,
  now: number,
): number {
  const waiting = waitingRequests({ pending });
  const ends = waiting.map(({ approval }) => approval.until);
  const isRemote = ({ remote, approval }: PendingCall) => remote !== undefined && !approval;
  ends.push(
    ...Object.values(pending).flatMap((call) =>
      isRemote(call) && call.remote ? [givenUpAt(call.remote)] : [],
    ),
  );
  const others = Object.fromEntries(Object.entries(pending).filter(([, call]) => !isRemote(call)));
  if (ends.length > 0 && requestsOf({ pending: others }).length === Object.keys(others).length)
    return Math.min(...ends);
  return stepDeadline(others, Math.min(toolMs, Math.max(0, timeLeft(run, now))), now);
}
