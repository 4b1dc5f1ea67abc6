import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ConsoleState } from "../state/console-state.ts";
import type { WireError } from "../wire/wire-error.ts";

/** What the gateway answered last, and why it could not be read again. */
export interface Answer<T> {
  value: Signal<T | undefined>;
  fault: Signal<string>;
  /** Reads it again. Earlier content stays on the page meanwhile. */
  reload(): Promise<void>;
}

/**
 * Reads what a view shows: when it is shown, after each reconnection, and when something in `causes` changes. An answer
 * that a newer read has overtaken is dropped.
 */
export function useAnswer<T>(
  state: ConsoleState,
  read: () => Promise<T>,
  causes: readonly unknown[] = [],
): Answer<T> {
  const value = useSignal<T | undefined>(undefined);
  const fault = useSignal("");
  const reads = useRef(0);
  const isConnected = state.wire.value.status === "connected";
  const reload = async () => {
    const number = ++reads.current;
    const isNewest = () => number === reads.current;
    await read().then(
      (found) => {
        if (isNewest()) [value.value, fault.value] = [found, ""];
      },
      (error: WireError) => {
        if (isNewest()) fault.value = error.message;
      },
    );
  };
  useEffect(() => {
    if (isConnected) void reload();
  }, [isConnected, ...causes]);
  return { value, fault, reload };
}
