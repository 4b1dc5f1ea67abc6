import {
  DeleteParameterCommand,
  GetParameterCommand,
  ParameterNotFound,
  PutParameterCommand,
  SSMClient,
} from "@aws-sdk/client-ssm";
import type { Secrets } from "../world/world.ts";
import { type CallLimits, clientSettings, secretLimits } from "./call-limits.ts";

/**
 * Secrets as SSM SecureString parameters: `apiKeys.anthropic` is `{prefix}/secrets/apiKeys/anthropic`.
 * Region, credentials and endpoint come from the environment, as the SDK reads them.
 * @param prefix parameter path without a trailing slash, e.g. `/gsv/dev`
 */
export function openSsmSecrets(prefix: string, limits: CallLimits = secretLimits): Secrets {
  const client = new SSMClient(clientSettings(limits));
  const nameOf = (path: string) => `${prefix}/secrets/${path.replaceAll(".", "/")}`;
  return {
    async get(path) {
      const command = new GetParameterCommand({ Name: nameOf(path), WithDecryption: true });
      return (await unlessAbsent(client.send(command)))?.Parameter?.Value;
    },
    async put(path, value) {
      const request = { Name: nameOf(path), Value: value, Type: "SecureString", Overwrite: true } as const;
      await client.send(new PutParameterCommand(request));
    },
    async delete(path) {
      await unlessAbsent(client.send(new DeleteParameterCommand({ Name: nameOf(path) })));
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
