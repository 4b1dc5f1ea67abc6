import { lazily } from "./lazily.ts";

/** Starts the agent for a session, asynchronously: returns once Lambda has accepted the event. */
export type WakeAgent = (sessionKey: string) => Promise<void>;

/**
 * Lambda's client is loaded when it is first used.
 * @param agentFunction name or ARN of the agent function
 */
export function openAgent(agentFunction: string): WakeAgent {
  const { wake } = lazily<{ wake: WakeAgent }>({ wake: true }, async () => ({
    wake: (await import("./lambda-invoke.ts")).openLambda(agentFunction),
  }));
  return wake;
}
