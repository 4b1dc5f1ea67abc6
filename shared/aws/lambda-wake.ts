import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type { WakeAgent } from "../world/world.ts";
import { type CallLimits, clientSettings, wakeLimits } from "./call-limits.ts";

/**
 * Region, credentials and endpoint come from the environment, as the SDK reads them.
 * @param agentFunction name or ARN of the agent function
 */
export function openLambdaWake(agentFunction: string, limits: CallLimits = wakeLimits): WakeAgent {
  const client = new LambdaClient(clientSettings(limits));
  return async (sessionKey, configurationVersion, slot) => {
    const Payload = Buffer.from(JSON.stringify({ sessionKey, configurationVersion, slot }));
    await client.send(new InvokeCommand({ FunctionName: agentFunction, InvocationType: "Event", Payload }));
  };
}
