import {
  DeleteParameterCommand,
  GetParameterCommand,
  ParameterNotFound,
  PutParameterCommand,
  SSMClient,
} from "@aws-sdk/client-ssm";

/** How long a warm function keeps a secret before it reads it again, in milliseconds. */
const secretMaxAgeMs = 60_000;

/**
 * Secrets as SSM SecureString parameters, addressed by their configuration path
 * (`apiKeys.anthropic` is `{prefix}/secrets/apiKeys/anthropic`).
 */
export interface Secrets {
  /** Undefined when there is none. Cached for a minute. */
  get(path: string): Promise<string | undefined>;
  put(path: string, value: string): Promise<void>;
  /** Deleting what is not there is not an error. */
  delete(path: string): Promise<void>;
}

/** @param prefix parameter path without a trailing slash, e.g. `/gsv/dev` */
export function openSecrets(prefix: string, now: () => number = Date.now): Secrets {
  const client = new SSMClient({ maxAttempts: 5 });
  const cache = new Map<string, { value: string | undefined; readAt: number }>();
  const nameOf = (path: string) => `${prefix}/secrets/${path.replaceAll(".", "/")}`;
  return {
    async get(path) {
      const cached = cache.get(path);
      if (cached && now() - cached.readAt < secretMaxAgeMs) return cached.value;
      const value = await read(client, nameOf(path));
      cache.set(path, { value, readAt: now() });
      return value;
    },
    async put(path, value) {
      const request = { Name: nameOf(path), Value: value, Type: "SecureString", Overwrite: true } as const;
      await client.send(new PutParameterCommand(request));
      cache.delete(path);
    },
    async delete(path) {
      try {
        await client.send(new DeleteParameterCommand({ Name: nameOf(path) }));
      } catch (error) {
        if (!(error instanceof ParameterNotFound)) throw error;
      }
      cache.delete(path);
    },
  };
}

async function read(client: SSMClient, name: string): Promise<string | undefined> {
  try {
    const output = await client.send(new GetParameterCommand({ Name: name, WithDecryption: true }));
    return output.Parameter?.Value;
  } catch (error) {
    if (error instanceof ParameterNotFound) return undefined;
    throw error;
  }
}
