const path = "/sw.js";

/** A factory of Trusted Types, which only some browsers have. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): unknown };
}

/** Registers the service worker that keeps the page's files. Without one, the page needs a connection to open. */
export async function keepShell(): Promise<void> {
  if (!("serviceWorker" in navigator)) return;
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  // The only address that the page's policy allows.
  const policy = trustedTypes?.createPolicy("gsv-sw", {
    createScriptURL(url) {
      if (url !== path) throw new TypeError("no other script");
      return url;
    },
  });
  const url = policy?.createScriptURL(path) ?? path;
  await navigator.serviceWorker.register(url as string).catch(() => undefined);
}

/** Removes the service worker: the next load of the page comes from its server, and registers it again. */
export async function forgetShell(): Promise<void> {
  await (await navigator.serviceWorker?.getRegistration())?.unregister();
}
