import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";

/** Starts the agent for a session, asynchronously: returns once Lambda has accepted the event. */
export type WakeAgent = (sessionKey: string) => Promise<void>;

/** @param agentFunction name or ARN of the agent function */
export function openAgent(agentFunction: string): WakeAgent {
  const client = new LambdaClient({ maxAttempts: 5 });
  return async (sessionKey) => {
    const Payload = Buffer.from(JSON.stringify({ sessionKey }));
    await client.send(new InvokeCommand({ FunctionName: agentFunction, InvocationType: "Event", Payload }));
  };
}
