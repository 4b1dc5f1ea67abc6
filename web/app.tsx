import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { ChatView } from "./chat/chat-view.tsx";
import { SessionList } from "./chat/session-list.tsx";
import { sessionName } from "./chat/session-name.ts";
import { BottomBar, MoreView, SideNavigation } from "./navigation.tsx";
import { Icon } from "./parts/icon.tsx";
import { addressOf, correctAddress, route } from "./routes.ts";
import type { ConsoleState } from "./state/console-state.ts";
import { storedFiles } from "./state/stored-files.ts";
import { LazyView } from "./views/lazy-view.tsx";
import { views } from "./views/views.ts";
import type { WireState } from "./wire/page-connection.ts";

/** The signed-in page: the views and sessions at the side, one view beside them. */
export function App({ state, signOut }: { state: ConsoleState; signOut: () => void }) {
  const isMenuOpen = useSignal(false);
  const draft = useSignal("");
  const source = useMemo(() => storedFiles(state), [state]);
  const name = route.value.view;
  const view = views.get(name);
  const isChat = view === undefined && name !== "more";
  useShownSession(state, isChat);
  useEffect(() => state.waiting.watch(() => document.visibilityState === "visible"), [state]);
  useKeys(state, isMenuOpen);
  const closeMenu = () => {
    isMenuOpen.value = false;
  };
  return (
    <div class={isMenuOpen.value ? "app menu-open" : "app"}>
      <aside>
        <SideNavigation state={state} />
        <SessionList state={state} onChosen={closeMenu} />
        <button type="button" class="quiet sign-out" onClick={signOut}>
          Sign out of this device
        </button>
      </aside>
      <button type="button" class="curtain" aria-label="Close the list of sessions" onClick={closeMenu} />
      <div class="shown">
        <header>
          {isChat && <MenuButton isMenuOpen={isMenuOpen} />}
          <Title title={isChat ? shownName(state) : (view?.title ?? "More")} />
          {isChat && (
            <a
              class="round"
              href={addressOf("session", state.conversation.value.sessionKey.value)}
              aria-label="Rename, reset or delete this session, and its history"
              title="This session"
            >
              <Icon name="more" />
            </a>
          )}
          {isChat && <ModelChips state={state} draft={draft} />}
          <Status wire={state.wire.value} />
        </header>
        <Banner state={state} />
        {/* Hidden rather than removed: it keeps what was attached and where the reader was. */}
        <ChatView state={state} draft={draft} source={source} isHidden={!isChat} />
        {view && <LazyView key={name} view={view} state={state} />}
        {name === "more" && <MoreView state={state} signOut={signOut} />}
        <BottomBar state={state} />
      </div>
    </div>
  );
}

/** Shows the session that the address names, and lets the address name the session that is shown. */
function useShownSession(state: ConsoleState, isChat: boolean): void {
  const { view, parts } = route.value;
  const named = view === "chat" ? parts[0] : undefined;
  const { sessionKey, isLoaded } = state.conversation.value;
  const shown = isLoaded.value ? sessionKey.value : undefined;
  useEffect(() => {
    if (!isChat) return;
    if (named !== undefined) void state.show(named);
    else if (shown !== undefined) correctAddress(addressOf("chat", shown));
  }, [state, isChat, named, shown]);
}

/** Escape closes the menu, or else stops the run of the shown session. ⌘K and Ctrl+K lead to the search. */
function useKeys(state: ConsoleState, isMenuOpen: Signal<boolean>): void {
  useEffect(() => {
    const keyed = (event: KeyboardEvent) => {
      if (event.key === "k" && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        isMenuOpen.value = matchMedia("(max-width: 760px)").matches;
        requestAnimationFrame(() => document.querySelector<HTMLElement>(".sessions input")?.focus());
      }
      if (event.key !== "Escape") return;
      if (isMenuOpen.value) isMenuOpen.value = false;
      else if (state.conversation.value.isRunning.value) void state.stop();
    };
    addEventListener("keydown", keyed);
    return () => removeEventListener("keydown", keyed);
  }, [state, isMenuOpen]);
}

/** The title of what is shown. Another view moves the focus to it, so that a screen reader reads it first. */
function Title({ title }: { title: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { view } = route.value;
  const before = useRef(view);
  useEffect(() => {
    document.title = `${title} · gsv`;
    if (before.current !== view) heading.current?.focus();
    before.current = view;
  }, [title, view]);
  return (
    <h1 tabIndex={-1} ref={heading}>
      {title}
    </h1>
  );
}

function shownName(state: ConsoleState): string {
  const sessionKey = state.conversation.value.sessionKey.value;
  return sessionName(state.sessions.value.find((one) => one.sessionKey === sessionKey) ?? { sessionKey });
}

function MenuButton({ isMenuOpen }: { isMenuOpen: Signal<boolean> }) {
  return (
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
  );
}

/** The model of the shown session, and how much it thinks. */
function ModelChips({ state, draft }: { state: ConsoleState; draft: Signal<string> }) {
  const command = (text: string) => {
    draft.value = text;
    document.querySelector("textarea")?.focus();
  };
  if (!state.model.value) return null;
  const { model, thinking } = state.model.value;
  return (
    <>
      <button type="button" class="chip" title="Change the model" onClick={() => command("/model ")}>
        {model.split("/").at(-1)}
      </button>
      {thinking && (
        <button
          type="button"
          class="chip"
          title="Change how much the model thinks"
          onClick={() => command("/think ")}
        >
          thinks {thinking}
        </button>
      )}
    </>
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
