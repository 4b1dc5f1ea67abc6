import { signal } from "@preact/signals";

/** Where the reader is. The address `#/memory/a/b` is the view `memory` with the parts `a` and `b`. */
export interface Route {
  view: string;
  parts: readonly string[];
}

/** The route of a fragment. One without a view is that of the chat. */
export function routeOf(hash: string): Route {
  if (!hash.startsWith("#/")) return { view: "chat", parts: [] };
  const [view = "", ...parts] = hash.slice(2).split("/").map(decoded);
  return { view: view || "chat", parts: parts.filter((part) => part !== "") };
}

/** The fragment of a view, for a link. */
export function addressOf(view: string, ...parts: string[]): string {
  // A colon, as in the key of a session, needs no escape.
  return `#/${[view, ...parts].map((part) => encodeURIComponent(part).replaceAll("%3A", ":")).join("/")}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The route of the page's address. */
export const route = signal<Route>(routeOf(""));

/** Keeps `route` equal to the address. A code in the address signs in as in a new window. */
export function followAddress(): void {
  const read = () => {
    if (location.hash.startsWith("#c=")) location.reload();
    else route.value = routeOf(location.hash);
  };
  addEventListener("hashchange", read);
  read();
}

/** Gives the entry of the browser's history another address, without a step back to the old one. */
export function correctAddress(address: string): void {
  history.replaceState(null, "", address);
  route.value = routeOf(address);
}
