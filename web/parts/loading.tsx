import type { ConsoleState } from "../state/console-state.ts";

/** In place of what has never been read. */
export function Loading({ state }: { state: ConsoleState }) {
  const isConnected = state.wire.value.status === "connected";
  return <p class="note">{isConnected ? "Loading…" : "This is shown when the page is connected again."}</p>;
}
