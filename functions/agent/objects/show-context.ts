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

/** A conversation as a model is shown it: `request.messages` is it, and the other messages stand around it. */
export interface ShownContext {
  request: Request;
  before: readonly Message[];
  after: readonly Message[];
  /** Ids of the objects whose content is shown. */
  active: readonly string[];
}

/** What a conversation is shown from. */
export interface ToShow {
  state: SessionState;
  messages: readonly Message[];
  settings: ContextSettings;
  extras: ExtraContent;
  audience: Audience;
  /** The request with nothing in it but prompt and tools. */
  empty: Omit<Request, "messages">;
}

/** A context that fits the model's window, with the steps that note what was taken out of it for that. */
export type FittedContext =
  | { status: "fits"; shown: ShownContext; steps: Step[] }
  | Exclude<Fit, { status: "fits" }>;

/** The part of the window that becomes free at least when results are taken out, so that this is rare. */
const minFreed = 1 / 8;

/** Results of the step in progress are what the model waits for; of the turn only they stay when it is that or a summary. */
const onlyNewest = (window: ContextWindow): ContextWindow => ({ calls: window.calls, turns: 1 });

/**
 * Makes a conversation fit: old results become references once it takes more than a share of the window, all but the
 * newest before it would be compacted. What was taken out can be brought back; what is compacted is a summary.
 */
export function fitContext(given: ToShow, run: Run): FittedContext {
  const { state, settings, empty } = given;
  const before = state.context?.through;
  let through = before;
  let shown = show(given, through);
  const sweep = (window: ContextWindow) => {
    const next = planNext(given, shown, through, window);
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

/** Most of the list of objects that the conversation does not show, in characters. */
const maxListed = 16_000;

/** The list's limit does not follow the measured rate: it stands at the start, and must not change from call to call. */
function limitsOf({ contextWindow, measured }: ToShow["empty"]): RenderLimits {
  const extras = Math.floor(contextWindow / 2 / tokenRate(measured.tokensPerCharacter));
  return { list: Math.min(maxListed, Math.floor(contextWindow / 4)), extras };
}

/** How far results are to be taken out of a request; undefined when it is small enough, or too little may go. */
function planNext(
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
