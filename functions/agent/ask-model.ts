import type { Message } from "../../shared/protocol/messages.ts";
import { effectiveThinking } from "../../shared/session/model-choice.ts";
import type { Run } from "../../shared/session/state.ts";
import type { Agent } from "./agent.ts";
import { loadContext, type TurnContext } from "./context.ts";
import { type Fit, fitRequest, type Request } from "./context-fit.ts";
import { promptCharacters } from "./context-size.ts";
import { streamDeltas } from "./deltas.ts";
import { repairTranscript } from "./history.ts";
import type { Hold } from "./hold.ts";
import { describeModel, type ModelOutcome } from "./model.ts";
import { shownMessages } from "./results.ts";

const typingEveryMs = 4000;

/** What became of a model call: it was made, or the conversation does not fit and what is to be done about it. */
export type Asked =
  | {
      status: "asked";
      outcome: ModelOutcome;
      turn: TurnContext;
      /** As it was sent. */
      request: Request;
      streamed: Promise<void>;
    }
  | Exclude<Fit, { status: "fits" }>;

/** Gathers what the model is to see, looks that it fits into the model's window, and calls the model. */
export async function askModel(
  agent: Agent,
  hold: Hold,
  run: Run,
  messages: readonly Message[],
  lost: AbortSignal,
): Promise<Asked> {
  const { state } = hold;
  const recipients = agent.broadcast.clients();
  recipients.catch(() => {});
  const turn = await loadContext(agent, state, run);
  const request: Request = {
    messages: shownMessages(messages),
    promptCharacters: promptCharacters(turn.systemPrompt, turn.tools),
    contextWindow: (await describeModel(turn.model)).contextWindow,
    settings: turn.configuration.compaction,
    measured: state,
  };
  const fit = fitRequest(request, run.shrunk);
  if (fit.status !== "fits") return fit;
  const deltas = streamDeltas(agent.broadcast, hold.sessionKey, run, recipients);
  const typing = keepTyping(agent, run);
  const thinkingLevel = effectiveThinking(state.settings, run.overrides);
  const { maxTokens } = state.settings;
  const outcome = await agent.callModel({
    model: turn.model,
    ...(thinkingLevel ? { thinkingLevel } : {}),
    ...(maxTokens ? { maxTokens } : {}),
    systemPrompt: turn.systemPrompt,
    messages: repairTranscript(fit.messages),
    tools: turn.tools,
    sessionId: state.sessionId,
    signal: AbortSignal.any([hold.interrupted, lost]),
    timeoutMs: turn.configuration.timeouts.llmMs,
    onText: (text) => deltas.add(text),
  });
  clearInterval(typing);
  const sent = { ...request, messages: fit.messages };
  return { status: "asked", outcome, turn, request: sent, streamed: deltas.end() };
}

/** Platforms show "typing" for a few seconds only, so it is said again until the timer is cleared. */
export function keepTyping(agent: Agent, run: Pick<Run, "origin">): NodeJS.Timeout | undefined {
  if (run.origin.kind !== "channel") return undefined;
  const say = () => void agent.channels.typing(run.origin);
  say();
  return setInterval(say, typingEveryMs);
}
