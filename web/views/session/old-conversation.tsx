import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Message } from "../../../shared/protocol/messages.ts";
import { EntryView } from "../../chat/entry-view.tsx";
import { agentOf } from "../../chat/session-name.ts";
import { timeText } from "../../parts/durations.ts";
import { Fault } from "../../parts/fault.tsx";
import { useAction } from "../../parts/use-action.ts";
import { addressOf } from "../../routes.ts";
import type { ConsoleState } from "../../state/console-state.ts";
import { entriesOf } from "../../state/entries.ts";

interface Named {
  state: ConsoleState;
  sessionKey: string;
  sessionId: string;
}

/** A reset deletes the files of a conversation. */
const noFiles = async () => undefined;

/** A conversation that a reset has ended, to read. */
export function OldConversation({ state, sessionKey, sessionId }: Named) {
  const read = useSignal<{ messages: Message[]; next?: string } | undefined>(undefined);
  const action = useAction();
  const more = () =>
    action.act(async () => {
      const page = await readPage({ state, sessionKey, sessionId }, read.value?.next);
      read.value = { ...page, messages: [...(read.value?.messages ?? []), ...page.messages] };
    });
  useEffect(more, []);
  const messages = read.value?.messages ?? [];
  const [first] = messages;
  return (
    <>
      <a href={addressOf("session", sessionKey)}>All conversations of this session</a>
      <p class="note">
        An earlier conversation{first && `, from ${timeText(first.timestamp)}`}. You can read it, but not
        write in it.
      </p>
      {entriesOf(messages, false).map((entry) => (
        <EntryView
          key={entry.key}
          entry={entry}
          state={state}
          agentId={agentOf(sessionKey)}
          source={noFiles}
        />
      ))}
      {action.isBusy.value && <p class="note">Loading…</p>}
      {read.value?.next !== undefined && !action.isBusy.value && (
        <button type="button" class="quiet earlier" onClick={more}>
          Show more
        </button>
      )}
      <Fault text={action.fault.value} retry={more} />
    </>
  );
}

/** Reads the messages after `from`. A message that is larger than a page arrives in pieces. */
async function readPage(
  { state, sessionKey, sessionId }: Named,
  from: string | undefined,
): Promise<{ messages: Message[]; next?: string }> {
  let text = "";
  let next = from;
  for (;;) {
    const params = { sessionKey, sessionId, ...(next === undefined ? {} : { next }) };
    const page = await state.connection.request("session.transcript", params);
    text += page.piece?.text ?? "";
    const messages = page.piece?.isLast ? [JSON.parse(text) as Message] : page.messages;
    next = page.next;
    if (messages.length > 0 || next === undefined)
      return { messages, ...(next === undefined ? {} : { next }) };
  }
}
