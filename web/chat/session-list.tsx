import { useSignal } from "@preact/signals";
import { timeText } from "../parts/durations.ts";
import { Icon } from "../parts/icon.tsx";
import { addressOf, route } from "../routes.ts";
import type { ConsoleState } from "../state/console-state.ts";
import { MessageHits } from "./message-hits.tsx";
import { sessionName } from "./session-name.ts";

/** The sessions, newest first, with a search by name. */
export function SessionList({ state, onChosen }: { state: ConsoleState; onChosen: () => void }) {
  const words = useSignal("");
  const searched = useSignal("");
  const isChat = route.value.view === "chat";
  const shown = state.conversation.value.sessionKey.value;
  const wanted = words.value.trim().toLowerCase();
  const waiting = new Set(state.approvals.value.map(({ sessionKey }) => sessionKey));
  const sessions = state.sessions.value.filter((one) => sessionName(one).toLowerCase().includes(wanted));
  const choose = (sessionKey: string) => {
    location.hash = addressOf("chat", sessionKey);
    onChosen();
  };
  const create = () => {
    choose(wanted === "" ? `chat-${new Date().toISOString().slice(0, 16)}` : words.value.trim());
    words.value = "";
  };
  return (
    <nav class="sessions" aria-label="Sessions">
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          searched.value = words.value.trim();
        }}
      >
        <input
          type="search"
          placeholder="Find or name"
          aria-label="Find or name a session"
          title="Find or name a session (⌘K, Ctrl+K)"
          value={words.value}
          onInput={({ currentTarget }) => {
            words.value = currentTarget.value;
          }}
        />
        <button type="button" class="round" aria-label="New session" title="New session" onClick={create}>
          <Icon name="plus" />
        </button>
      </form>
      {sessions.length === 0 && (
        <p class="note">{wanted === "" ? "No session yet." : "No session has this name."}</p>
      )}
      <ul>
        {sessions.map((one) => (
          <li>
            <button
              type="button"
              aria-current={isChat && one.sessionKey === shown ? "page" : undefined}
              onClick={() => choose(one.sessionKey)}
            >
              <span class="name">{sessionName(one)}</span>
              {state.unread.value.has(one.sessionKey) && (
                <span class="dot unread" role="img" aria-label="new messages" />
              )}
              {waiting.has(one.sessionKey) ? (
                <span class="badge">asks you</span>
              ) : (
                <time class="small">{timeText(one.lastActiveAt)}</time>
              )}
            </button>
          </li>
        ))}
      </ul>
      {wanted !== "" && searched.value !== words.value.trim() && (
        <button type="button" onClick={() => (searched.value = words.value.trim())}>
          Search in messages
        </button>
      )}
      {wanted !== "" && searched.value === words.value.trim() && (
        <MessageHits key={searched.value} state={state} words={searched.value} onChosen={onChosen} />
      )}
    </nav>
  );
}
