import { useSignal } from "@preact/signals";
import { timeText } from "../parts/durations.ts";
import { Icon } from "../parts/icon.tsx";
import { addressOf, route } from "../routes.ts";
import type { ConsoleState } from "../state/console-state.ts";

/** The name of a session for its reader: its label, or its key without the agent. */
export function sessionName({ sessionKey, label }: { sessionKey: string; label?: string }): string {
  if (label) return label;
  const [kind, agent, ...rest] = sessionKey.split(":");
  return kind === "agent" && rest.length > 0
    ? rest.join(":")
    : [kind, agent, ...rest].filter(Boolean).join(":");
}

/** The sessions, newest first, with a search by name. */
export function SessionList({ state, onChosen }: { state: ConsoleState; onChosen: () => void }) {
  const words = useSignal("");
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
      <div class="search">
        <input
          type="search"
          placeholder="Find or name"
          aria-label="Find or name a session"
          value={words.value}
          onInput={({ currentTarget }) => {
            words.value = currentTarget.value;
          }}
        />
        <button type="button" class="round" aria-label="New session" title="New session" onClick={create}>
          <Icon name="plus" />
        </button>
      </div>
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
    </nav>
  );
}
