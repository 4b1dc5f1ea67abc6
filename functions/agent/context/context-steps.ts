import type { AssistantMessage } from "../../../shared/protocol/messages.ts";
import type { Run } from "../../../shared/session/run.ts";
import { remove, type Step, set } from "../../../shared/world/expression.ts";
import type { Request } from "./context-fit.ts";
import { totalCharacters } from "./context-size.ts";

function charactersOf({ promptCharacters, messages }: Request): number {
  return promptCharacters + totalCharacters(messages);
}

/** Notes the size that the provider reports with its reply. One that reports nothing leaves only estimates. */
export function sizeSteps({ usage }: AssistantMessage, request: Request): Step[] {
  const tokens = usage ? usage.input + usage.cacheRead + usage.cacheWrite : 0;
  if (tokens === 0) return [remove("contextTokens")];
  return [set("contextTokens", tokens), set("tokensPerCharacter", tokens / charactersOf(request))];
}

/** The model call of this step is to be made again, smaller; which does not count as an attempt that crashed. */
export function againSmaller(run: Run, shrunk: NonNullable<Run["shrunk"]>): Step[] {
  return [set(["run", "attempt"], run.attempt - 1), set(["run", "shrunk"], shrunk)];
}

/**
 * The provider refused the request as too long, so it has more tokens than the window: that many for its characters at
 * least. Undefined when the call is not to be made again: it was refused before, or compaction is switched off.
 */
export function againAfterRefusal(run: Run, request: Request): Step[] | undefined {
  const { settings, contextWindow, measured } = request;
  if (run.shrunk === "refused" || !settings.enabled) return undefined;
  const least = contextWindow / charactersOf(request);
  const rate = Math.max(least, measured.tokensPerCharacter ?? 0);
  return [...againSmaller(run, "refused"), remove("contextTokens"), set("tokensPerCharacter", rate)];
}
