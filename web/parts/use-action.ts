import { type Signal, useSignal } from "@preact/signals";

/** An action of a button: while it is in progress, the button is disabled; why it failed is shown beside it. */
export interface Action {
  isBusy: Signal<boolean>;
  fault: Signal<string>;
  act(action: () => Promise<unknown>): void;
}

/** @param done called after each action that succeeded, such as to read a list again */
export function useAction(done: () => unknown = () => undefined): Action {
  const isBusy = useSignal(false);
  const fault = useSignal("");
  const run = async (action: () => Promise<unknown>) => {
    if (isBusy.value) return;
    [isBusy.value, fault.value] = [true, ""];
    try {
      await action();
      await done();
    } catch (error) {
      fault.value = (error as Error).message;
    } finally {
      isBusy.value = false;
    }
  };
  return { isBusy, fault, act: (action) => void run(action) };
}
