import { joinOrigins } from "../../origins/origins.ts";
import type { ContextResult } from "../../protocol/session-results.ts";
import { readSession } from "../sessions.ts";
import type { CostContext } from "../spending.ts";
import { messageCount } from "../state.ts";
import { tokenText } from "./cost-command.ts";
import { effectiveModel } from "./model-choice.ts";

/** `/context` as a text: how full the context window is. */
export async function contextCommand(context: CostContext, sessionKey: string): Promise<string> {
  return contextText(await windowOf(context, sessionKey));
}

/** How full a session's context window is, without its objects. */
export type WindowUse = Pick<ContextResult, "sessionKey" | "model" | "messageCount" | "last" | "origins">;

export async function windowOf(
  { table, configuration }: CostContext,
  sessionKey: string,
): Promise<WindowUse> {
  const [state, loaded] = await Promise.all([readSession(table, sessionKey), configuration.load()]);
  const { provider, id } = effectiveModel(loaded, sessionKey, state?.settings ?? {});
  const { contextTokens: tokens, contextLimits: limits } = state ?? {};
  const origins = joinOrigins(state?.origins, state?.run?.origins);
  const result = {
    ...{ sessionKey, model: `${provider}/${id}`, messageCount: state ? messageCount(state) : 0 },
    ...(origins.length === 0 ? {} : { origins }),
  };
  if (tokens === undefined || limits === undefined) return result;
  const { window, promptShare, compactsAt } = limits;
  const prompt = Math.round(tokens * promptShare);
  return { ...result, last: { tokens, window, prompt, ...(compactsAt === undefined ? {} : { compactsAt }) } };
}

/** How full a session's context window is, as lines for people. */
export function contextText({ model, messageCount: messages, last, origins = [] }: WindowUse): string {
  const words = origins.length === 0 ? [] : [`Words of others: ${origins.join(", ")}`];
  const lines = [`Model: ${model}`, `Messages: ${messages}`, ...words];
  if (!last) return [...lines, "Context: known after the next reply"].join("\n");
  const { tokens, window, prompt, compactsAt } = last;
  return [
    ...lines,
    `Context: ${tokenText(tokens)} of ${tokenText(window)} tokens (${percentText(tokens / window)})`,
    `Of these: prompt and tools about ${tokenText(prompt)}, messages about ${tokenText(tokens - prompt)}`,
    ...(compactsAt === undefined ? [] : [`Compacted above: ${tokenText(compactsAt)} tokens`]),
  ].join("\n");
}

/** `6%`; any share above zero is at least `1%`. */
export function percentText(share: number): string {
  return `${share > 0 ? Math.max(1, Math.round(share * 100)) : 0}%`;
}
