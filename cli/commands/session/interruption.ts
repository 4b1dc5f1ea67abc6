import { onInterrupt } from "../../app/process/signals.ts";
import type { Conversation } from "../../chat/conversation.ts";

/** What Ctrl-C did to a conversation without a terminal. */
export interface Interruption {
  /** Aborted by the first Ctrl-C: no further message is sent. */
  signal: AbortSignal;
  /** Gives Ctrl-C its usual meaning again. */
  dispose(): void;
}

/**
 * Until `dispose`, the first Ctrl-C stops the run of the message that waits for its answer, and the second closes the
 * conversation while the run goes on. `note` prints a line for the user; `stopping` is told that a stop is asked for, and when nothing is stopped.
 */
export function stopAtInterrupt(
  conversation: Conversation,
  note: (text: string) => void,
  stopping: (isStopping: boolean) => void,
): Interruption {
  const controller = new AbortController();
  /** What has become of the stop, unless the message has its outcome by now. */
  const tell = (text: string) => {
    stopping(false);
    if (conversation.active > 0) note(`gsv: ${text} (Ctrl-C again leaves)`);
  };
  const stop = async () => {
    if (!(await conversation.stopOwn())) tell("the message still waits behind others; nothing is stopped");
  };
  const dispose = onInterrupt(() => {
    if (controller.signal.aborted) {
      conversation.close();
      return;
    }
    controller.abort();
    if (conversation.active === 0) return;
    stopping(true);
    stop().catch(({ message }: Error) => tell(`not stopped: ${message}`));
  });
  return { signal: controller.signal, dispose };
}
