import { useSignal } from "@preact/signals";
import { sessionName } from "../chat/session-name.ts";
import { Confirm } from "../parts/confirm.tsx";
import { timeText } from "../parts/durations.ts";
import { Fault } from "../parts/fault.tsx";
import { Loading } from "../parts/loading.tsx";
import { useAction } from "../parts/use-action.ts";
import { useAnswer } from "../parts/use-answer.ts";
import { addressOf, correctAddress, route } from "../routes.ts";
import type { ConsoleState } from "../state/console-state.ts";
import { OldConversation } from "./session/old-conversation.tsx";

/** A reset waits for earlier runs, ms. */
const resetMs = 300_000;

/** A session's name and its earlier conversations, one of them to read, and what ends it. */
export default function Session({ state }: { state: ConsoleState }) {
  const [sessionKey = "main", sessionId] = route.value.parts;
  const history = useAnswer(state, async () => {
    const found = await state.connection.request("session.history", { sessionKey });
    if (sessionId === found.currentSessionId) correctAddress(addressOf("chat", found.sessionKey));
    return found;
  }, [sessionKey, sessionId]);
  const found = history.value.value;
  if (!found)
    return history.fault.value === "" ? (
      <Loading state={state} />
    ) : (
      <Fault text={history.fault.value} retry={history.reload} />
    );
  if (sessionId !== undefined)
    return (
      <OldConversation key={sessionId} state={state} sessionKey={found.sessionKey} sessionId={sessionId} />
    );
  return (
    <>
      <a href={addressOf("chat", found.sessionKey)}>Back to the conversation</a>
      <Name key={found.sessionKey} state={state} sessionKey={found.sessionKey} />
      <h2>Earlier conversations</h2>
      {found.previous.length === 0 && <p class="note">None: this session was never reset.</p>}
      <ul class="rows" aria-label="Earlier conversations">
        {found.previous
          .map(({ sessionId: id, lastActiveAt }, index) => (
            <li key={id}>
              <a href={addressOf("session", found.sessionKey, id)}>
                <span>
                  {index + 1}. conversation,{" "}
                  {lastActiveAt === undefined ? id.slice(0, 8) : <time>{timeText(lastActiveAt)}</time>}
                </span>
              </a>
            </li>
          ))
          .toReversed()}
      </ul>
      <Endings state={state} sessionKey={found.sessionKey} reload={history.reload} />
    </>
  );
}

function Name({ state, sessionKey }: { state: ConsoleState; sessionKey: string }) {
  const known = state.sessions.value.find((one) => one.sessionKey === sessionKey);
  const typed = useSignal<string | undefined>(undefined);
  const isSaved = useSignal(false);
  const action = useAction();
  const save = () =>
    action.act(async () => {
      const label = (typed.value ?? known?.label ?? "").trim() || null;
      await state.connection.request("session.patch", { sessionKey, label });
      await state.listSessions();
      isSaved.value = true;
    });
  return (
    <form
      class="field"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <label>
        Name
        <input
          dir="auto"
          maxLength={200}
          placeholder={sessionName({ sessionKey })}
          value={typed.value ?? known?.label ?? ""}
          onInput={({ currentTarget }) => {
            typed.value = currentTarget.value;
            isSaved.value = false;
          }}
        />
      </label>
      <button type="submit" disabled={action.isBusy.value}>
        Rename
      </button>
      <span class="small" role="status">
        {isSaved.value && "Saved."}
      </span>
      <Fault text={action.fault.value} />
    </form>
  );
}

interface EndingsProps {
  state: ConsoleState;
  sessionKey: string;
  reload: () => Promise<void>;
}

function Endings({ state, sessionKey, reload }: EndingsProps) {
  const asked = useSignal<"reset" | "delete" | undefined>(undefined);
  const action = useAction();
  const view = state.conversation.value;
  const reset = async () => {
    await state.connection.request("session.reset", { sessionKey }, resetMs);
    if (view.isNamed(sessionKey)) view.clear();
    await Promise.all([view.refresh(), state.listSessions(), reload()]);
  };
  const remove = async () => {
    await state.connection.request("session.delete", { sessionKey });
    if (view.isNamed(sessionKey)) view.clear();
    await Promise.all([state.listSessions(), view.refresh()]);
    location.hash = addressOf("chat", "main");
  };
  const isReset = asked.value === "reset";
  return (
    <>
      <h2>Begin anew</h2>
      <div class="buttons">
        <button type="button" disabled={action.isBusy.value} onClick={() => (asked.value = "reset")}>
          Reset…
        </button>
        <button
          type="button"
          class="danger"
          disabled={action.isBusy.value}
          onClick={() => (asked.value = "delete")}
        >
          Delete…
        </button>
      </div>
      <Fault text={action.fault.value} />
      {asked.value && (
        <Confirm
          title={isReset ? "Reset this session?" : "Delete this session?"}
          does={isReset ? "Reset" : "Delete"}
          onConfirmed={() => action.act(isReset ? reset : remove)}
          onClosed={() => {
            asked.value = undefined;
          }}
        >
          {isReset
            ? "The agent begins a new conversation. What was said stays readable under the earlier conversations."
            : "All its conversations and files are deleted, also the earlier ones. This cannot be undone."}
        </Confirm>
      )}
    </>
  );
}
