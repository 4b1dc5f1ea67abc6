/** The parts of a service worker's global scope that are used. */
interface WorkerScope {
  addEventListener(type: string, handler: (event: WorkerEvent) => void): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
}

interface WorkerEvent {
  request: Request;
  waitUntil(work: Promise<unknown>): void;
  respondWith(answer: Promise<Response>): void;
}

/** The paths of the page's files, and a name for this set of them. The bundler inserts both. */
declare const pageFiles: readonly string[];
declare const pageVersion: string;

const scope = globalThis as unknown as WorkerScope;

// Keeps the page's files, so that it opens without a connection. A new version is used from the next start on.
scope.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(pageVersion)
      .then((cache) => cache.addAll([...pageFiles]))
      .then(() => scope.skipWaiting()),
  );
});

scope.addEventListener("activate", (event) => {
  const clear = caches
    .keys()
    .then((names) =>
      Promise.all(names.filter((name) => name !== pageVersion).map((name) => caches.delete(name))),
    );
  event.waitUntil(clear.then(() => scope.clients.claim()));
});

// Answers of the gateway are never kept: they do not come through here, except for its address.
scope.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== "GET" || origin !== location.origin || !pageFiles.includes(pathname)) return;
  event.respondWith(caches.match(pathname).then((kept) => kept ?? fetch(event.request)));
});
