import { PortInUseError } from "./http/http-endpoint.ts";
import type { JsonFile } from "./json-file.ts";

/** The content of `cloud.json`. */
export interface CloudFile {
  /** Id of the process that uses the folder; outdated when that process has ended. */
  pid?: number;
  /** The previous ports of the endpoints, by name. */
  ports: Record<string, number>;
}

/**
 * Starts an endpoint on the port that it had the last time, so that addresses outlive a restart, or on a free one
 * when that is taken. The caller saves the file.
 */
export async function onRememberedPort<T extends { port: number }>(
  file: JsonFile<CloudFile>,
  name: string,
  start: (port: number) => Promise<T>,
): Promise<T> {
  const endpoint = await start(file.value.ports[name] ?? 0).catch((error: unknown) => {
    if (error instanceof PortInUseError) return start(0);
    throw error;
  });
  file.value.ports[name] = endpoint.port;
  return endpoint;
}
