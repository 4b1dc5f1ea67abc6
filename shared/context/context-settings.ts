import type { Configuration } from "../configuration/schema.ts";
import type { ContextSettings } from "./view.ts";

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
