import { type LoopbackServer, readBody, sendJson, serveLoopback } from "../../../local/http/loopback.ts";

/** A complete request. */
export interface WholeRequest {
  method: string;
  url: URL;
  /** Values of the same name are joined by commas. */
  headers: Record<string, string>;
  /** The body; undefined if it exceeds `maxBody`. */
  bytes: Buffer | undefined;
}

export interface WholeReply {
  status: number;
  /** Sent as JSON, or unchanged if it is bytes. Omitted with status 204. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** Answers a request. Undefined breaks the connection. */
export type WholeAnswer = (request: WholeRequest) => Promise<WholeReply | undefined>;

/** Maximum length of a body, in bytes. */
const maxBody = 50 * 1024 * 1024;

/** A server on 127.0.0.1 that reads requests and answers them as a whole. */
export async function serveWhole(answer: WholeAnswer): Promise<LoopbackServer> {
  const server = await serveLoopback(async (request, response) => {
    const { method = "", headers } = request;
    const url = new URL(request.url ?? "/", server.origin);
    const joined = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(",")]);
    try {
      const bytes = await readBody(request, maxBody);
      const reply = await answer({ method, url, headers: Object.fromEntries(joined), bytes });
      if (!reply) return void request.socket.destroy();
      if (reply.status === 204) response.writeHead(204, reply.headers).end();
      else if (reply.body instanceof Uint8Array)
        response.writeHead(reply.status, reply.headers).end(Buffer.from(reply.body));
      else sendJson(response, reply.status, reply.body ?? {}, reply.headers);
    } catch (error) {
      response.destroy(error as Error);
    }
  });
  return server;
}
