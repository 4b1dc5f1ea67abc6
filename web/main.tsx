import { signal } from "@preact/signals";
import { render } from "preact";
import { App } from "./app.tsx";
import { Pairing } from "./pairing.tsx";
import { followAddress, route } from "./routes.ts";
import { ConsoleState } from "./state/console-state.ts";
import { signOut } from "./state/sign-out.ts";
import { type GatewayAddress, gatewayAddress } from "./wire/gateway-address.ts";
import { keepShell } from "./wire/offline-shell.ts";
import { PageConnection, type WireAuth } from "./wire/page-connection.ts";
import { openPageStore, type PageStore } from "./wire/page-store.ts";

/** The one-time code of the address. It is removed from there before anything else happens. */
function codeOfAddress(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get("c");
  if (code !== null) history.replaceState(null, "", location.pathname);
  return code ?? undefined;
}

const defaultSession = "main";

async function start(code: string | undefined): Promise<void> {
  followAddress();
  const store = await openPageStore();
  const shown = signal<{ state?: ConsoleState; fault: string }>({ fault: "" });
  const [address, token, last] = await Promise.all([
    gatewayAddress(store),
    store.get<string>("settings", "token"),
    store.get<string>("settings", "session"),
  ]);
  const signIn = (auth: WireAuth) => {
    const connection = openConnection(address, auth, store);
    const { view, parts } = route.value;
    const addressed = view === "chat" ? parts[0] : undefined;
    connection.onState((state) => {
      if (state.status !== "refused") return;
      connection.close();
      void store.delete("settings", "token");
      shown.value = { fault: state.reason };
    });
    const state = new ConsoleState(connection, store, addressed ?? last ?? defaultSession);
    connection.open();
    shown.value = { state, fault: "" };
    return state.restored;
  };
  const Page = () => {
    const { state, fault } = shown.value;
    if (state && !state.isSignedOut.value) return <App state={state} signOut={() => void signOut(state)} />;
    return <Pairing fault={fault} onCode={(typed) => void signIn(authOf(typed))} />;
  };
  if (code !== undefined) await signIn({ code });
  else if (token !== undefined) await signIn({ token });
  void keepShell();
  render(<Page />, document.getElementById("page") as HTMLElement);
}

/** A token may be typed, too. */
function authOf(typed: string): WireAuth {
  return typed.startsWith("gsv_") ? { token: typed } : { code: typed };
}

function openConnection({ ws, version }: GatewayAddress, auth: WireAuth, store: PageStore): PageConnection {
  const clientId = `web-${crypto.randomUUID().slice(0, 13)}`;
  const keep = (token: string) => void store.put("settings", "token", token);
  if ("token" in auth) keep(auth.token);
  const connection = new PageConnection({ url: ws, auth, clientId, version, onToken: keep });
  // A phone freezes hidden pages: their connection may be gone without a sign.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") connection.wake();
  });
  addEventListener("online", () => connection.wake());
  return connection;
}

start(codeOfAddress()).catch((error: Error) => {
  document.body.textContent = `The page could not start: ${error.message}. Reload it.`;
});
