import { signal } from "@preact/signals";
import { render } from "preact";
import { App } from "./app.tsx";
import { begun } from "./early.ts";
import { Pairing } from "./pairing.tsx";
import { followVisibleHeight } from "./parts/visible-height.ts";
import { followAddress, route } from "./routes.ts";
import { ConsoleState } from "./state/console-state.ts";
import { signOut } from "./state/sign-out.ts";
import { keepShell } from "./wire/offline-shell.ts";
import type { PageConnection, WireAuth } from "./wire/page-connection.ts";

const defaultSession = "main";

async function start(): Promise<void> {
  followAddress();
  followVisibleHeight();
  const { store, session, connect, connection } = await begun;
  const shown = signal<{ state?: ConsoleState; fault: string }>({ fault: "" });
  const signIn = (using: PageConnection) => {
    const { view, parts } = route.value;
    const addressed = view === "chat" ? parts[0] : undefined;
    const state = new ConsoleState(using, store, addressed ?? session ?? defaultSession);
    shown.value = { state, fault: "" };
    using.onState((now) => {
      if (now.status !== "refused") return;
      using.close();
      void store.delete("settings", "token");
      shown.value = { fault: now.reason };
    });
    return state.restored;
  };
  const Page = () => {
    const { state, fault } = shown.value;
    if (state && !state.isSignedOut.value) return <App state={state} signOut={() => void signOut(state)} />;
    return <Pairing fault={fault} onCode={(typed) => void signIn(connect(authOf(typed)))} />;
  };
  if (connection) await signIn(connection);
  void keepShell();
  render(<Page />, document.getElementById("page") as HTMLElement);
}

/** A token may be typed, too. */
function authOf(typed: string): WireAuth {
  return typed.startsWith("gsv_") ? { token: typed } : { code: typed };
}

start().catch((error: Error) => {
  document.body.textContent = `The page could not start: ${error.message}. Reload it.`;
});
