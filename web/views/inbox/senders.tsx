import type { PairEntry } from "../../../shared/protocol/channel-accounts.ts";
import { showHidden } from "../../chat/shown-text.ts";
import { timeText } from "../../parts/durations.ts";
import { Fault } from "../../parts/fault.tsx";
import { useAction } from "../../parts/use-action.ts";
import type { ConsoleState } from "../../state/console-state.ts";

/** People who wrote to a messenger account and may not write yet. */
export function Senders({ state }: { state: ConsoleState }) {
  return (
    <>
      {state.waiting.senders.value.map((pair) => (
        <Sender key={`${pair.channel}:${pair.accountId}:${pair.senderId}`} pair={pair} state={state} />
      ))}
    </>
  );
}

function Sender({ pair, state }: { pair: PairEntry; state: ConsoleState }) {
  const { channel, senderId, senderName, message, requestedAt } = pair;
  const { isBusy, fault, act } = useAction(() => state.waiting.read());
  const answer = (method: "pair.approve" | "pair.reject") =>
    act(() => state.connection.request(method, { channel, senderId }));
  const name = showHidden(senderName ?? senderId);
  const place = showHidden(channel);
  return (
    <section class="card item" aria-label={`${name} wants to write`}>
      <h2>
        <bdi>{name}</bdi> wants to write on {place}
      </h2>
      <p class="quote" dir="auto">
        {message === undefined ? "(a message that is too long to show)" : showHidden(message)}
      </p>
      <p class="small">
        Id {showHidden(senderId)}, {timeText(requestedAt)}. A guest uses none of your machines. Is it you? Run{" "}
        <code>
          gsv pair approve {place} {showHidden(senderId)} --owner
        </code>{" "}
        in a terminal.
      </p>
      <Fault text={fault.value} />
      <div class="buttons">
        <button type="button" class="primary" disabled={isBusy.value} onClick={() => answer("pair.approve")}>
          Approve as a guest
        </button>
        <button type="button" disabled={isBusy.value} onClick={() => answer("pair.reject")}>
          Deny
        </button>
      </div>
    </section>
  );
}
