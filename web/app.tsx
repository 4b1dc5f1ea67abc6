import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ChatView } from "./chat/chat-view.tsx";
import { SessionList, sessionName } from "./chat/session-list.tsx";
import { Icon } from "./parts/icon.tsx";
import type { ConsoleState } from "./state/console-state.ts";
import { storedFiles } from "./state/stored-files.ts";
import type { WireState } from "./wire/page-connection.ts";

/** The signed-in page: sessions at the side, the conversation beside them. */
export function App({ state, signOut }: { state: ConsoleState; signOut: () => void }) {
  const isMenuOpen = useSignal(false);
  const draft = useSignal("");
  const source = useMemo(() => storedFiles(state), [state]);
  const view = state.conversation.value;
  const sessionKey = view.sessionKey.value;
  const known = state.sessions.value.find((one) => one.sessionKey === sessionKey);
  const command = (text: string) => {
    draft.value = text;
    document.querySelector("textarea")?.focus();
  };
  useEffect(() => {
    const keyed = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      if (isMenuOpen.value) isMenuOpen.value = false;
      else if (state.conversation.value.isRunning.value) void state.stop();
    };
    addEventListener("keydown", keyed);
    return () => removeEventListener("keydown", keyed);
  }, [state]);
  return (
    <div class={isMenuOpen.value ? "app menu-open" : "app"}>
      <aside>
        <SessionList
          state={state}
          onChosen={() => {
            isMenuOpen.value = false;
          }}
        />
        <button type="button" class="quiet" onClick={signOut}>
          Sign out of this device
        </button>
      </aside>
      <button
        type="button"
        class="curtain"
        aria-label="Close the list of sessions"
        onClick={() => {
          isMenuOpen.value = false;
        }}
      />
      <div class="shown">
        <header>
          <button
            type="button"
            class="round menu"
            aria-label="Sessions"
            aria-expanded={isMenuOpen.value}
            onClick={() => {
              isMenuOpen.value = !isMenuOpen.value;
            }}
          >
            <Icon name="menu" />
          </button>
          <h1>{sessionName(known ?? { sessionKey })}</h1>
          {state.model.value && (
            <button type="button" class="chip" title="Change the model" onClick={() => command("/model ")}>
              {state.model.value.model.split("/").at(-1)}
            </button>
          )}
          {state.model.value?.thinking && (
            <button
              type="button"
              class="chip"
              title="Change how much the model thinks"
              onClick={() => command("/think ")}
            >
              thinks {state.model.value.thinking}
            </button>
          )}
          <Status wire={state.wire.value} />
        </header>
        <Banner state={state} />
        <ChatView state={state} draft={draft} source={source} />
      </div>
    </div>
  );
}

const dots: Record<WireState["status"], string> = {
  connected: "Connected",
  connecting: "Connecting",
  waiting: "Offline",
  refused: "Signed out",
  replaced: "Open elsewhere",
};

function Status({ wire }: { wire: WireState }) {
  return (
    <span
      class={`dot ${wire.status}`}
      role="status"
      aria-label={dots[wire.status]}
      title={dots[wire.status]}
    />
  );
}

/** What is wrong with the connection, and what to do. Nothing while all is well. */
function Banner({ state }: { state: ConsoleState }) {
  const wire = state.wire.value;
  const count = state.unsent.value.filter(({ refused }) => refused === undefined).length;
  if (wire.status === "replaced")
    return (
      <p class="banner" role="alert">
        This conversation is open in another window.
        <button type="button" class="quiet" onClick={() => state.connection.open()}>
          Use it here
        </button>
      </p>
    );
  if (wire.status !== "waiting") return null;
  return (
    <p class="banner" role="status">
      Offline: {wire.reason}. {count > 0 ? `Sent when back online: ${count}.` : "Trying again."}
      <button type="button" class="quiet" onClick={() => state.connection.wake()}>
        Try now
      </button>
    </p>
  );
}
