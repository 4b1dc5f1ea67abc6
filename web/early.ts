import { gatewayAddress } from "./wire/gateway-address.ts";
import { PageConnection, type WireAuth } from "./wire/page-connection.ts";
import { openPageStore, type PageStore } from "./wire/page-store.ts";

/** What the page needs to begin. */
interface Begun {
  store: PageStore;
  /** The session that was shown last. */
  session?: string;
  /** That of the code in the address, or of the token that this device has kept. */
  connection?: PageConnection;
  /** Opens a connection. */
  connect(auth: WireAuth): PageConnection;
}

/** The one-time code of the address. It is removed from there before anything else happens. */
function codeOfAddress(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get("c");
  if (code !== null) history.replaceState(null, "", location.pathname);
  return code ?? undefined;
}

async function begin(code: string | undefined): Promise<Begun> {
  const store = await openPageStore();
  const [{ ws: url, version }, token, session] = await Promise.all([
    gatewayAddress(store),
    store.get<string>("settings", "token"),
    store.get<string>("settings", "session"),
  ]);
  const connect = (auth: WireAuth) => {
    const clientId = `web-${crypto.randomUUID().slice(0, 13)}`;
    const onToken = (kept: string) => void store.put("settings", "token", kept);
    if ("token" in auth) onToken(auth.token);
    const connection = new PageConnection({ url, auth, clientId, version, onToken });
    // A phone freezes hidden pages: their connection may be gone without a sign.
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") connection.wake();
    });
    addEventListener("online", () => connection.wake());
    connection.open();
    return connection;
  };
  const auth = code !== undefined ? { code } : token !== undefined ? { token } : undefined;
  return { store, session, connect, connection: auth && connect(auth) };
}

/** Opens the store and connects. This is executed while the other files of the page still arrive. */
export const begun = begin(codeOfAddress());
