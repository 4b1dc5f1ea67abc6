import { onInterrupt } from "../../app/process/signals.ts";
import type { Conversation } from "../../chat/conversation.ts";

/** The handling of Ctrl-C for a conversation outside the interactive chat. */
export interface Interruption {
  /** Aborted by the first Ctrl-C: no further message is sent. */
  signal: AbortSignal;
  /** Restores the usual effect of Ctrl-C. */
  dispose(): void;
}

/**
 * Until `dispose`, the first Ctrl-C stops the run of the current message, and the second closes the conversation while the
 * run continues. `note` prints a line for the user. `stopping` is called with true when a stop is requested, and with
 * false when it failed.
 */
export function stopAtInterrupt(
  conversation: Conversation,
  note: (text: string) => void,
  stopping: (isStopping: boolean) => void,
): Interruption {
  const controller = new AbortController();
  /** Reports a failed stop, unless the message already has its outcome. */
  const reportFailure = (text: string) => {
    stopping(false);
    if (conversation.active > 0) note(`gsv: ${text} (Ctrl-C again leaves)`);
  };
  const stop = async () => {
    if (!(await conversation.stopOwn())) reportFailure("the message is still queued; nothing was stopped");
  };
  const dispose = onInterrupt(() => {
    if (controller.signal.aborted) {
      conversation.close();
      return;
    }
    controller.abort();
    if (conversation.active === 0) return;
    stopping(true);
    stop().catch(({ message }: Error) => reportFailure(`not stopped: ${message}`));
  });
  return { signal: controller.signal, dispose };
}
