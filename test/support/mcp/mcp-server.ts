import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A tool as an MCP server lists it. */
export interface ListedTool {
  name: string;
  description?: string;
  inputSchema: Record<string, unknown>;
  annotations?: Record<string, unknown>;
}

/** What a server's method answers: a result, or an error of JSON-RPC. */
type Answer = Record<string, unknown> & { rpcError?: { code: number; message: string } };

export interface ServerOptions {
  tools: ListedTool[];
  /** Tools of one page; absent: all. */
  pageSize?: number;
  /** How long the list stays valid, in milliseconds; absent: the server does not say. */
  ttlMs?: number;
  /** `legacy`: it answers `initialize` alone, and wants the session that it gave. */
  era?: "modern" | "legacy";
  call?(
    name: string,
    args: Record<string, unknown>,
    params: Record<string, unknown>,
  ): Answer | Promise<Answer>;
  /** Other methods, such as `tasks/get`. */
  methods?: Record<string, (params: Record<string, unknown>) => Answer>;
  /** The bearer token that it wants now. */
  token?: () => string;
  /** Answers a request before MCP does, as a broken server or one with further pages. @returns true when it has */
  before?(request: IncomingMessage, response: ServerResponse, body: string): boolean | Promise<boolean>;
}

export interface McpTestServer {
  url: string;
  origin: string;
  /** The methods that were called, in order, and their headers. */
  requests: { method: string; headers: IncomingMessage["headers"]; params: Record<string, unknown> }[];
  /** Those that a test changes between requests. */
  options: ServerOptions;
  close(): Promise<void>;
}

const newest = "2026-07-28";

/** An MCP server by hand, on node:http alone, with the wire of its era. */
export async function startMcpServer(options: ServerOptions): Promise<McpTestServer> {
  const requests: McpTestServer["requests"] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    if (await options.before?.(request, response, body)) return;
    if (options.token && request.headers.authorization !== `Bearer ${options.token()}`) {
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` }).end();
      return;
    }
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    const message = JSON.parse(body) as { id?: unknown; method: string; params?: Record<string, unknown> };
    const { id, method, params = {} } = message;
    requests.push({ method, headers: request.headers, params });
    if (id === undefined) {
      response.writeHead(202).end();
      return;
    }
    const result = await resultOf(options, method, params);
    const { rpcError } = result;
    const status = rpcError?.message === "Method not found" && options.era === "legacy" ? 400 : 200;
    response.writeHead(status, {
      "content-type": "application/json",
      ...(method === "initialize" ? { "mcp-session-id": "session-1" } : {}),
    });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(rpcError ? { error: rpcError } : { result }) }));
  }
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ url: `${origin}/mcp`, origin, requests, options },
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

async function resultOf(
  options: ServerOptions,
  method: string,
  params: Record<string, unknown>,
): Promise<Answer> {
  const { era = "modern", tools, pageSize = tools.length } = options;
  const complete = era === "modern" ? { resultType: "complete" } : {};
  const unknown = { rpcError: { code: -32601, message: "Method not found" } };
  const own = options.methods?.[method];
  if (own) return own(params);
  switch (method) {
    case "server/discover":
      if (era === "legacy") return unknown;
      return {
        ...complete,
        supportedVersions: [newest],
        capabilities: { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } },
        ttlMs: 0,
        cacheScope: "private",
      };
    case "initialize":
      if (era === "modern") return unknown;
      return {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "by hand", version: "1" },
      };
    case "tools/list": {
      const start = Number(params.cursor ?? 0);
      const end = start + Math.max(1, pageSize);
      return {
        ...complete,
        tools: tools.slice(start, end),
        ...(end < tools.length ? { nextCursor: String(end) } : {}),
        ...(era === "modern" ? { ttlMs: options.ttlMs ?? 0, cacheScope: "private" } : {}),
      };
    }
    case "tools/call": {
      const name = String(params.name);
      if (!tools.some((tool) => tool.name === name))
        return { rpcError: { code: -32602, message: `Unknown tool: ${name}` } };
      const args = (params.arguments ?? {}) as Record<string, unknown>;
      const called = await (options.call?.(name, args, params) ?? {
        content: [{ type: "text", text: `${name} ${JSON.stringify(args)}` }],
      });
      return { ...complete, ...called };
    }
    default:
      return unknown;
  }
}
