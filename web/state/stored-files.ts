import { effect } from "@preact/signals";
import type { ConsoleState } from "./console-state.ts";

/** Reads stored objects of the shown session through presigned URLs. Each is read once. */
export function storedFiles(state: ConsoleState): (r2Key: string) => Promise<Blob | undefined> {
  const read = new Map<string, Promise<Blob | undefined>>();
  return (r2Key) => {
    const known = read.get(r2Key);
    if (known) return known;
    const reading = readFile(state, r2Key).catch(() => {
      read.delete(r2Key);
      return undefined;
    });
    read.set(r2Key, reading);
    return reading;
  };
}

/** Waits for a connection: cached messages are shown before there is one. */
function connected({ wire }: ConsoleState): Promise<void> {
  return new Promise((resolve) => {
    const end = effect(() => {
      if (wire.value.status !== "connected") return;
      queueMicrotask(() => end());
      resolve();
    });
  });
}

async function readFile(state: ConsoleState, r2Key: string): Promise<Blob | undefined> {
  await connected(state);
  const sessionKey = state.conversation.value.sessionKey.value;
  const { url } = await state.connection.request("media.url", { r2Key, sessionKey });
  const response = await fetch(url);
  return response.ok ? response.blob() : undefined;
}
