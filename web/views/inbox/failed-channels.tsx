import { showHidden } from "../../chat/shown-text.ts";
import type { ConsoleState } from "../../state/console-state.ts";

/** Accounts of messengers that do not work. */
export function FailedChannels({ state }: { state: ConsoleState }) {
  return (
    <>
      {state.waiting.channels.value.map(({ channel, accountId, error = "" }) => (
        <section class="card item" key={`${channel}:${accountId}`}>
          <h2>
            {showHidden(channel)} ({showHidden(accountId)}) does not work
          </h2>
          <p class="failure">{showHidden(error)}</p>
          <p class="small">
            <code>gsv doctor</code> in a terminal says what to do.
          </p>
        </section>
      ))}
    </>
  );
}
