import type { Configuration } from "../configuration/schema.ts";
import type {
  ActivatedObject,
  ArchivedCall,
  EarlierContext,
  ObjectSource,
} from "../protocol/context-objects.ts";
import type { Message } from "../protocol/messages.ts";
import { type Activation, activationOf, type SessionContext } from "./activation.ts";
import {
  type ContextCall,
  type ContextWindow,
  contextCalls,
  isContextTool,
  recentCalls,
  stillHolds,
  turnNumbers,
} from "./context-calls.ts";

/** `inline`: results are at their calls. `pools`: all results are references, and the active ones follow the conversation. */
export type Rendering = "inline" | "pools";

/** The effective `context` settings of an agent. */
export interface ContextSettings {
  rendering: Rendering;
  /** Share of the model's window above which old results become references. */
  deactivateAbove: number;
  window: ContextWindow;
}

/** Shorter results never become references, which would be hardly shorter. Characters. */
const minDeactivated = 400;

/** Typical length of a reference, in characters. */
const referenceLength = 150;

/** The objects of a conversation, and which of them the model sees. */
export interface ContextView {
  /** Live calls with a result, in order. */
  calls: readonly ContextCall[];
  /** Calls that compactions archived. */
  archived: readonly ArchivedCall[];
  /** Number of archived calls not listed in `archived`. */
  more: number;
  activation: Activation;
  /** The current turn, counted from 1. */
  turn: number;
  settings: ContextSettings;
  /** Live calls whose result the model sees; in `inline` at the call. */
  active: ReadonlySet<ContextCall>;
  /** Other content that it sees: results that were archived or had become references, and files. */
  extras: readonly ActivatedObject[];
}

/**
 * Decides which of a conversation's objects a model sees.
 * @param first the number of the first message
 */
export function viewContext(
  messages: readonly Message[],
  first: number,
  context: SessionContext | undefined,
  settings: ContextSettings,
): ContextView {
  const calls = contextCalls(messages);
  const activation = activationOf(messages, first, context?.changes);
  const turn = turnNumbers(messages).at(-1) ?? 1;
  const earlier = earlierOf(messages);
  const holds = (object: ActivatedObject) => stillHolds(object, turn, settings.window);
  const active = new Set(calls.filter(inPlace({ calls, activation, turn, settings, holds }, context)));
  const seen = new Set([...active].map(({ id }) => id));
  const places = new Map(earlier.calls.map((call) => [call.id, call]));
  const live = new Set(calls.map(({ id }) => id));
  const extras = [...activation.on.values()]
    .filter((object) => !seen.has(object.id) && holds(object))
    .map((object) => {
      const place = live.has(object.id) ? undefined : places.get(object.id);
      return place && object.source.kind === "call" ? { ...object, source: archivedAt(place) } : object;
    });
  return {
    calls,
    archived: earlier.calls,
    more: earlier.more,
    activation,
    turn,
    settings,
    active,
    extras,
  };
}

/** The archived source of a call that was live when it was activated. */
function archivedAt({ at, line }: ArchivedCall): ObjectSource {
  return { kind: "archive", at, line };
}

interface Seeing extends Pick<ContextView, "calls" | "activation" | "turn" | "settings"> {
  holds(object: ActivatedObject): boolean;
}

/**
 * Which live calls the model sees at their places. In `inline` a result that a sweep made a reference stays one, even when it
 * is activated again: its content then follows the conversation, so that everything before stays unchanged (prompt cache).
 */
function inPlace(
  { calls, activation, turn, settings, holds }: Seeing,
  context: SessionContext | undefined,
): (call: ContextCall) => boolean {
  const recent = recentOnce(calls, turn, settings.window);
  const last = calls.findIndex(({ id }) => id === context?.through);
  const references = new Set(calls.slice(0, last + 1).filter(canBeSwept));
  return (call) => {
    if (isContextTool(call.tool)) return true;
    if (activation.off.has(call.id)) return false;
    if (settings.rendering === "inline") return !references.has(call);
    const activated = activation.on.get(call.id);
    return (activated !== undefined && holds(activated)) || recent(call);
  };
}

/** The objects that the summary at the head of a conversation lists. */
export function earlierOf([head]: readonly Message[]): EarlierContext {
  return (head?.role === "user" && head.earlier) || { calls: [], more: 0, activated: [] };
}

/** Ids of the objects whose content the model sees, without duplicates. */
export function activeIds({ active, extras }: Pick<ContextView, "active" | "extras">): string[] {
  return [...[...active].map(({ id }) => id), ...extras.map(({ id }) => id)];
}

/** The recent calls; when a file was read several times, only the newest reading. */
function recentOnce(calls: readonly ContextCall[], turn: number, window: ContextWindow) {
  const recent = recentCalls(calls, turn, window);
  const newest = new Map<string, ContextCall>();
  for (const call of recent) if (isReading(call)) newest.set(readingOf(call), call);
  return (call: ContextCall) =>
    recent.has(call) && (!isReading(call) || newest.get(readingOf(call)) === call);
}

function isReading({ tool, status }: ContextCall): boolean {
  return status === "ok" && /__(Read|ReadFile)$/.test(tool);
}

function readingOf({ tool, args }: ContextCall): string {
  return `${tool} ${JSON.stringify(args)}`;
}

/** Images never automatically become references: no tool could show them again. */
function canBeSwept({ tool, hasImage, characters = 0 }: ContextCall): boolean {
  return !isContextTool(tool) && !hasImage && characters > minDeactivated;
}

/** How many characters a request must shrink by, and the minimum that is worth a sweep. */
export interface SweepGoal {
  needed: number;
  minimum: number;
}

/**
 * Plans which results become references, so that the request shrinks by `needed` characters.
 * @param within the window of recent calls; the first of them and everything after it stays
 * @returns the id for `through`; undefined when less than `minimum` can be freed
 */
export function planSweep(
  { calls, active, activation, turn, settings }: ContextView,
  { needed, minimum }: SweepGoal,
  within: ContextWindow,
): string | undefined {
  const recent = recentCalls(calls, turn, within);
  const stays = (call: ContextCall) => {
    const activated = activation.on.get(call.id);
    return activated !== undefined && stillHolds(activated, turn, settings.window);
  };
  let freed = 0;
  let last: string | undefined;
  for (const call of calls) {
    if (recent.has(call) || freed >= needed) break;
    if (!active.has(call) || !canBeSwept(call) || stays(call)) continue;
    freed += (call.characters ?? 0) - referenceLength;
    last = call.id;
  }
  return freed >= Math.min(needed, minimum) ? last : undefined;
}

/** The effective context settings of an agent: its own override `context`. */
export function contextSettings(
  configuration: Configuration,
  agentId: string,
): ContextSettings & { tools: boolean } {
  const { context, agents } = configuration;
  const own = agents.list.find(({ id }) => id === agentId)?.context ?? {};
  const { rendering, tools, deactivateAbove, window } = {
    ...context,
    ...own,
    window: { ...context.window, ...own.window },
  };
  // Without the tools, the agent could not show again what was automatically hidden.
  return { rendering, tools, deactivateAbove: tools ? deactivateAbove : 1, window };
}
