import {
  DeleteParameterCommand,
  GetParameterCommand,
  ParameterNotFound,
  PutParameterCommand,
  SSMClient,
} from "@aws-sdk/client-ssm";
import type { Parameters } from "./secrets.ts";

/** Region, credentials and endpoint come from the environment, as the SDK reads them. */
export function openParameters(): Parameters {
  const client = new SSMClient({ maxAttempts: 5 });
  return {
    async get(name) {
      const command = new GetParameterCommand({ Name: name, WithDecryption: true });
      return (await unlessAbsent(client.send(command)))?.Parameter?.Value;
    },
    async put(name, value) {
      const request = { Name: name, Value: value, Type: "SecureString", Overwrite: true } as const;
      await client.send(new PutParameterCommand(request));
    },
    async delete(name) {
      await unlessAbsent(client.send(new DeleteParameterCommand({ Name: name })));
    },
  };
}

async function unlessAbsent<T>(sent: Promise<T>): Promise<T | undefined> {
  try {
    return await sent;
  } catch (error) {
    if (error instanceof ParameterNotFound) return undefined;
    throw error;
  }
}
