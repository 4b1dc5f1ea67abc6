import type { Message } from "../../../shared/protocol/messages.ts";
import { effectiveThinking } from "../../../shared/session/commands/model-choice.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import type { Agent } from "../agent.ts";
import { loadContext, type TurnContext } from "../context/context.ts";
import { type Fit, fitRequest, type Request } from "../context/context-fit.ts";
import { promptCharacters } from "../context/context-size.ts";
import { repairTranscript } from "../context/history.ts";
import type { Surroundings } from "../context/peers.ts";
import type { Hold } from "../hold.ts";
import { streamDeltas } from "../reply/deltas.ts";
import { shownMessages } from "../tools/tool-results.ts";
import { describeModel, type ModelOutcome } from "./model.ts";

const typingEveryMs = 4000;

/** A model call that can be made: what the model is to see fits into its window. */
export interface Prepared {
  status: "fits";
  turn: TurnContext;
  /** As it is sent. */
  request: Request;
  /** Whom the answer is streamed to. */
  clients: Promise<readonly string[]>;
}

/** Gathers what the model is to see, and looks that it fits into the model's window. */
export async function prepareRequest(
  agent: Agent,
  state: SessionState,
  run: Run,
  messages: readonly Message[],
  { nodes, clients }: Surroundings,
): Promise<Prepared | Exclude<Fit, { status: "fits" }>> {
  const turn = await loadContext(agent, state, run, nodes);
  const request: Request = {
    messages: shownMessages(messages),
    promptCharacters: promptCharacters(turn.systemPrompt, turn.tools),
    contextWindow: (await describeModel(turn.model)).contextWindow,
    settings: turn.configuration.compaction,
    measured: state,
  };
  const fit = fitRequest(request, run.shrunk);
  if (fit.status !== "fits") return fit;
  return { status: "fits", turn, request: { ...request, messages: fit.messages }, clients };
}

/** Calls the model, and streams its text to clients; `streamed` is done when all of it has been sent. */
export async function askModel(
  agent: Agent,
  hold: Hold,
  run: Run,
  { turn, request, clients }: Prepared,
  lost: AbortSignal,
): Promise<{ outcome: ModelOutcome; streamed: Promise<void> }> {
  const { state } = hold;
  const deltas = streamDeltas(agent.broadcast, hold.sessionKey, run, clients);
  const typing = keepTyping(agent, run);
  const thinkingLevel = effectiveThinking(state.settings, run.overrides);
  const { maxTokens } = state.settings;
  const called = agent.callModel({
    model: turn.model,
    ...(thinkingLevel ? { thinkingLevel } : {}),
    ...(maxTokens ? { maxTokens } : {}),
    systemPrompt: turn.systemPrompt,
    messages: repairTranscript(request.messages),
    tools: turn.tools,
    sessionId: state.sessionId,
    signal: AbortSignal.any([hold.interrupted, lost]),
    timeoutMs: turn.configuration.timeouts.llmMs,
    onText: (text) => deltas.add(text),
  });
  const outcome = await called.finally(() => clearInterval(typing));
  return { outcome, streamed: deltas.end() };
}

/** Platforms show "typing" for a few seconds only, so it is said again until the timer is cleared. */
export function keepTyping(
  agent: Pick<Agent, "channels">,
  run: Pick<Run, "origin">,
): NodeJS.Timeout | undefined {
  if (run.origin.kind !== "channel") return undefined;
  const say = () => void agent.channels.typing(run.origin);
  say();
  return setInterval(say, typingEveryMs);
}
