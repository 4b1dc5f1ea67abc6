import type { ContextWindow } from "../../../shared/context/context-calls.ts";
import {
  type ExtraContent,
  type RenderedContext,
  type RenderLimits,
  renderContext,
} from "../../../shared/context/render.ts";
import {
  activeIds,
  type ContextSettings,
  type ContextView,
  planSweep,
  viewContext,
} from "../../../shared/context/view.ts";
import { resultText } from "../../../shared/objects/toolcall.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import type { Run } from "../../../shared/session/run.ts";
import { assign, type SessionState } from "../../../shared/session/state.ts";
import type { Audience } from "../../../shared/workspace/privacy.ts";
import type { Step } from "../../../shared/world/expression.ts";
import { type Fit, fitRequest } from "../context/context-fit.ts";
import {
  type Request,
  requestCharacters,
  requestTokens,
  tokenRate,
  totalCharacters,
} from "../context/context-size.ts";
import { shownMessages } from "../context/shorten.ts";
import { readableExtras } from "./inline-files.ts";

/** A conversation as the model sees it: `request.messages`, with other messages before and after them. */
export interface ShownContext {
  request: Request;
  before: readonly Message[];
  after: readonly Message[];
  /** Ids of the objects whose content is shown. */
  active: readonly string[];
}

/** The parts from which a conversation is shown. */
export interface ToShow {
  state: SessionState;
  messages: readonly Message[];
  settings: ContextSettings;
  extras: ExtraContent;
  audience: Audience;
  /** The request without messages: only prompt and tools. */
  empty: Omit<Request, "messages">;
}

/** A context that fits the model's window, with the steps that record which results were removed for that. */
export type FittedContext =
  | { status: "fits"; shown: ShownContext; steps: Step[] }
  | Exclude<Fit, { status: "fits" }>;

/** Removing results frees at least this part of the window, so that it happens rarely. */
const minFreed = 1 / 8;

/** Before a compaction only the newest results stay: the model waits for the results of the step in progress. */
const onlyNewest = (window: ContextWindow): ContextWindow => ({ calls: window.calls, turns: 1 });

/**
 * Makes a conversation fit. Old results become references when it fills more than a share of the window; all but the
 * newest do before it would be compacted. A reference can be activated again, a compacted message cannot.
 */
export function fitContext(given: ToShow, run: Run): FittedContext {
  const { state, settings, empty } = given;
  const before = state.context?.through;
  let through = before;
  let shown = show(given, through);
  const sweep = (window: ContextWindow) => {
    const next = planRemoval(given, shown, through, window);
    if (next === undefined) return;
    through = next;
    shown = show(given, through);
  };
  sweep(settings.window);
  let fit = fitRequest(shown.request, run.shrunk);
  if (fit.status === "compact") {
    sweep(onlyNewest(settings.window));
    fit = fitRequest(shown.request, run.shrunk);
  }
  if (fit.status !== "fits") return fit;
  const isNew = through !== undefined && through !== before;
  const steps = isNew ? [assign("context", { ...state.context, through })] : [];
  const request = { ...empty, ...shown.request, messages: fit.messages };
  return { status: "fits", shown: { ...shown, request }, steps };
}

function viewOf({ state, messages, settings, audience }: ToShow, through: string | undefined): ContextView {
  const context = { ...state.context, ...(through === undefined ? {} : { through }) };
  const view = viewContext(messages, state.first, context, settings);
  return { ...view, extras: readableExtras(view.extras, audience) };
}

function show(given: ToShow, through: string | undefined): ShownContext {
  const { messages, empty } = given;
  const view = viewOf(given, through);
  const live = view.calls.map(({ id, result }) => [id, resultText(result)] as const);
  const extras: ExtraContent = new Map([...live, ...given.extras]);
  const rendered: RenderedContext = renderContext(messages, view, extras, limitsOf(empty));
  const { before, after } = rendered;
  const promptCharacters = empty.promptCharacters + totalCharacters(before) + totalCharacters(after);
  const request = { ...empty, promptCharacters, messages: shownMessages(rendered.messages) };
  const active = activeIds({ active: view.active, extras: view.extras.filter(({ id }) => extras.get(id)) });
  return { request, before, after, active };
}

/** Max characters of the list of objects that the conversation does not show. */
const maxListed = 16_000;

/** The list's limit ignores the measured rate: the list comes first, and a change would invalidate the prompt cache. */
function limitsOf({ contextWindow, measured }: ToShow["empty"]): RenderLimits {
  const extras = Math.floor(contextWindow / 2 / tokenRate(measured.tokensPerCharacter));
  return { list: Math.min(maxListed, Math.floor(contextWindow / 4)), extras };
}

/** The last result to remove from a request; undefined when it is small enough, or when too little can be removed. */
function planRemoval(
  given: ToShow,
  { request }: ShownContext,
  through: string | undefined,
  window: ContextWindow,
): string | undefined {
  const { rendering, deactivateAbove } = given.settings;
  const { contextWindow, measured } = request;
  const above = deactivateAbove * contextWindow;
  const over = requestTokens(requestCharacters(request), measured) - above;
  if (rendering === "pools" || deactivateAbove >= 1 || over <= 0) return undefined;
  const rate = tokenRate(measured.tokensPerCharacter);
  const least = (minFreed * contextWindow) / rate;
  return planSweep(viewOf(given, through), { needed: Math.max(least, over / rate), minimum: least }, window);
}
