import { showHidden } from "../../chat/shown-text.ts";
import { Fault } from "../../parts/fault.tsx";
import { useAnswer } from "../../parts/use-answer.ts";
import type { ConsoleState } from "../../state/console-state.ts";

/** Accounts of messengers that do not work. The gateway asks each platform, so this is read only when the inbox is shown. */
export function FailedChannels({ state }: { state: ConsoleState }) {
  const { value, fault, reload } = useAnswer(state, () => readFailed(state));
  return (
    <>
      {value.value?.map(({ channel, accountId, error = "" }) => (
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
      <Fault text={fault.value} retry={reload} />
    </>
  );
}

async function readFailed({ connection }: ConsoleState) {
  const { channels } = await connection.request("channels.list");
  const names = [...new Set(channels.map(({ channel }) => channel))];
  const all = await Promise.all(names.map((channel) => connection.request("channel.status", { channel })));
  return all
    .flatMap(({ channel, accounts }) => accounts.map((account) => ({ channel, ...account })))
    .filter(({ error, extra }) => error !== undefined && !extra.stopped);
}
