import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A storage of presigned urls for one test. It accepts PUT and GET, and fails as the test wants. */
export interface StorageServer {
  url(name: string): string;
  objects: Map<string, string>;
  requests: { method: string; name: string; headers: Record<string, unknown> }[];
  /** Answers wait for this promise. */
  gate: Promise<unknown>;
  /** Statuses for the next requests, one each; `"silence"`: no answer. */
  faults: (number | "silence")[];
  close(): Promise<void>;
}

export async function startStorage(): Promise<StorageServer> {
  const server = createServer(async (request, response) => {
    const name = (request.url ?? "").slice(1);
    const method = request.method ?? "";
    const body = await readBody(request);
    if (body === undefined) return;
    storage.requests.push({ method, name, headers: request.headers });
    const fault = storage.faults.shift();
    if (fault === "silence") return;
    await storage.gate;
    const stored = storage.objects.get(name);
    if (fault === undefined && method === "PUT") storage.objects.set(name, body);
    response.writeHead(fault ?? (method === "GET" && stored === undefined ? 404 : 200));
    response.end(method === "GET" && fault === undefined ? stored : "");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const storage: StorageServer = {
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    objects: new Map(),
    requests: [],
    gate: Promise.resolve(),
    faults: [],
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return storage;
}

/** The whole body as text; undefined when the client has aborted the request. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ECONNRESET") return undefined;
    throw error;
  }
  return Buffer.concat(chunks).toString();
}
