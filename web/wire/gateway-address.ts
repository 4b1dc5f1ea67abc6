import { forgetShell } from "./offline-shell.ts";
import type { PageStore } from "./page-store.ts";

/** Where the gateway is. The page's server says it, never the page's address. */
export interface GatewayAddress {
  ws: string;
  version: string;
}

/**
 * The address that was served last, without waiting; the first time, the one that is served now. When another gateway is
 * served later, the page is loaded again: its policy allows only the gateway that it was loaded with.
 * @throws Error when the address is neither served nor known
 */
export async function gatewayAddress(store: PageStore): Promise<GatewayAddress> {
  const keep = (address: GatewayAddress) => store.put("settings", "gateway", address);
  const known = await store.get<GatewayAddress>("settings", "gateway");
  // The document has asked for it already.
  const served = fetch("/gateway.json").then((answer) => answer.json() as Promise<GatewayAddress>);
  if (!known) {
    const address = await served;
    void keep(address);
    return address;
  }
  served.then(
    async (address) => {
      if (address.ws === known.ws && address.version === known.version) return;
      await keep(address);
      if (address.ws === known.ws) return;
      await forgetShell();
      location.reload();
    },
    // Without its server, the page uses what it knows.
    () => undefined,
  );
  return known;
}
