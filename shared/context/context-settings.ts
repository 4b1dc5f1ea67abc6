import type { Configuration } from "../configuration/schema.ts";
import type { ContextSettings } from "./view.ts";

/** The settings of contexts as they hold for an agent: its own ones over `context`. */
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
  // Nothing could bring back what went without being asked for.
  return { rendering, tools, deactivateAbove: tools ? deactivateAbove : 1, window };
}
