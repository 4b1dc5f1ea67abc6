import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type { WakeAgent } from "./invoke.ts";

/** Region, credentials and endpoint come from the environment, as the SDK reads them. */
export function openLambda(agentFunction: string): WakeAgent {
  const client = new LambdaClient({ maxAttempts: 5 });
  return async (sessionKey) => {
    const Payload = Buffer.from(JSON.stringify({ sessionKey }));
    await client.send(new InvokeCommand({ FunctionName: agentFunction, InvocationType: "Event", Payload }));
  };
}
