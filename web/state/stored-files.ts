import { effect } from "@preact/signals";
import type { ConsoleState } from "./console-state.ts";

/** Pauses before a file that could not be read is read again, in ms. */
const pausesMs = [1_500, 6_000, 30_000];

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

/** @throws Error when the file cannot be read, in several attempts */
async function readFile(state: ConsoleState, r2Key: string): Promise<Blob | undefined> {
  for (const pause of [...pausesMs, undefined]) {
    await connected(state);
    try {
      return await readOnce(state, r2Key);
    } catch (error) {
      if (pause === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  return undefined;
}

async function readOnce(state: ConsoleState, r2Key: string): Promise<Blob> {
  const sessionKey = state.conversation.value.sessionKey.value;
  const { url } = await state.connection.request("media.url", { r2Key, sessionKey });
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the storage answered ${response.status}`);
  return response.blob();
}
