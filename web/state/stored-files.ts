import type { ConsoleState } from "./console-state.ts";

/** Reads stored objects of the shown session through presigned URLs. Each is read once. */
export function storedFiles(state: ConsoleState): (r2Key: string) => Promise<Blob | undefined> {
  const read = new Map<string, Promise<Blob | undefined>>();
  return (r2Key) => {
    const known = read.get(r2Key);
    if (known) return known;
    const reading = readFile(state, r2Key).catch(() => undefined);
    read.set(r2Key, reading);
    return reading;
  };
}

async function readFile(state: ConsoleState, r2Key: string): Promise<Blob | undefined> {
  const sessionKey = state.conversation.value.sessionKey.value;
  const { url } = await state.connection.request("media.url", { r2Key, sessionKey });
  const response = await fetch(url);
  return response.ok ? response.blob() : undefined;
}
