import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type { WakeAgent } from "../world/world.ts";

/**
 * Region, credentials and endpoint come from the environment, as the SDK reads them.
 * @param agentFunction name or ARN of the agent function
 */
export function openLambdaWake(agentFunction: string): WakeAgent {
  const client = new LambdaClient({ maxAttempts: 5 });
  return async (sessionKey) => {
    const Payload = Buffer.from(JSON.stringify({ sessionKey }));
    await client.send(new InvokeCommand({ FunctionName: agentFunction, InvocationType: "Event", Payload }));
  };
}
