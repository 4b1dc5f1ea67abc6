import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { SearchHit } from "../../shared/protocol/search.ts";
import { timeText } from "../parts/durations.ts";
import { Fault } from "../parts/fault.tsx";
import { useAction } from "../parts/use-action.ts";
import { addressOf } from "../routes.ts";
import type { ConsoleState } from "../state/console-state.ts";
import { sessionName } from "./session-name.ts";

interface HitsProps {
  state: ConsoleState;
  words: string;
  onChosen: () => void;
}

/** Searches what was said in all sessions, when the user asks for it. Give it the words as its key. */
export function MessageHits({ state, words, onChosen }: HitsProps) {
  const hits = useSignal<SearchHit[] | undefined>(undefined);
  const action = useAction();
  useEffect(
    () =>
      action.act(async () => {
        hits.value = (await state.connection.request("session.search", { query: words, maxChars: 200 })).hits;
      }),
    [],
  );
  return (
    <section class="hits" aria-label="Found in messages" aria-busy={action.isBusy.value}>
      {action.isBusy.value && <p class="note">Searching…</p>}
      <Fault text={action.fault.value} />
      {hits.value?.length === 0 && <p class="note">No message has these words.</p>}
      {hits.value?.map(({ sessionKey, sessionId, message, text, at }) => (
        <a
          key={`${sessionId}:${message}`}
          href={addressOf("session", sessionKey, sessionId)}
          onClick={onChosen}
        >
          <b>
            {sessionName(state.sessions.value.find((one) => one.sessionKey === sessionKey) ?? { sessionKey })}
          </b>{" "}
          <time class="small">{timeText(at)}</time>
          <br />
          <span dir="auto">{text}</span>
        </a>
      ))}
    </section>
  );
}
