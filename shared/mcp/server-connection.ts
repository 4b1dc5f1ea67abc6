// Loaded only when a server is asked: no function reads the SDK at its start.
import {
  type AuthProvider,
  Client,
  type DiscoverResult,
  type JSONRPCMessage,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Tool,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { createGuardedRequest, type GuardedRequest } from "../http/guarded-request.ts";
import type { Catalogue, RemoteTool } from "./catalogue.ts";
import { McpFault, wordsOf } from "./mcp-fault.ts";
import { isTaskResult, type RemoteTask, taskExtension, toTask } from "./task-wire.ts";

/** The longest wait for a list, or for the state of a task. Milliseconds. */
const askMs = 30_000;

/** How the gateway names itself, and what it supports. */
const clientInfo = { name: "gsv", version: "1" };
const capabilities = { elicitation: { form: {} }, extensions: { [taskExtension]: {} } };

/** A server, and how to show who asks. */
export interface ServerAddress {
  name: string;
  url: string;
  /** The bearer token, if there is one. */
  token(): Promise<string | undefined>;
  /** Called after the server refused the token; afterwards `token` gives another one. @throws McpFault when there is none */
  renew(): Promise<void>;
}

/** What a server answered to a call: its result, a task that continues, or a question. */
export type RemoteAnswer =
  | { kind: "result"; result: unknown }
  | { kind: "task"; task: RemoteTask }
  | { kind: "question"; requests: Record<string, unknown>; state?: string };

/** An open connection. Its methods throw `McpFault` alone. */
export interface Connection {
  /** Lists all tools, of all pages. */
  list(now: number): Promise<Catalogue>;
  /**
   * Calls a tool. @param given answers to the server's questions, with the state that it gave along
   */
  call(
    tool: RemoteTool,
    args: Record<string, unknown>,
    timeoutMs: number,
    given?: { responses: Record<string, unknown>; state?: string },
  ): Promise<RemoteAnswer>;
  /** The state of a task. */
  task(taskId: string): Promise<RemoteTask>;
  /** Answers a task's questions. */
  answer(taskId: string, responses: Record<string, unknown>): Promise<void>;
  cancel(taskId: string): Promise<void>;
}

/**
 * Connects to a server, in the newest protocol that it speaks, and closes the connection afterwards.
 * @param known an earlier catalogue: its server need not be discovered again
 * @throws McpFault, also from `use`
 */
export async function withServer<T>(
  server: ServerAddress,
  use: (connection: Connection) => Promise<T>,
  { known, signal, request }: { known?: Catalogue; signal?: AbortSignal; request?: GuardedRequest } = {},
): Promise<T> {
  const options = { ...(signal ? { signal } : {}), timeout: askMs };
  const client = new Client(clientInfo, {
    capabilities,
    versionNegotiation: { mode: "auto" },
    inputRequired: { autoFulfill: false },
    jsonSchemaValidator: {
      getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
    },
  });
  // A server before 2026-07-28 asks during the call. Nobody can answer then.
  client.setRequestHandler("elicitation/create", async () => ({ action: "cancel" }));
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    authProvider: authOf(server),
    fetch: request ?? createGuardedRequest(new URL(server.url).origin),
    reconnectionOptions: {
      maxReconnectionDelay: 1000,
      initialReconnectionDelay: 500,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 1,
    },
  });
  try {
    const prior = known?.discovered as DiscoverResult | undefined;
    await client.connect(
      transport,
      prior ? { ...options, prior: { kind: "modern", discover: prior } } : options,
    );
    return await use(connectionOf(server, client, transport, options));
  } catch (error) {
    throw faultOf(server, error, signal);
  } finally {
    await transport.terminateSession().catch(() => {});
    await client.close().catch(() => {});
  }
}

function authOf(server: ServerAddress): AuthProvider {
  return { token: () => server.token(), onUnauthorized: () => server.renew() };
}

function connectionOf(
  server: ServerAddress,
  client: Client,
  transport: StreamableHTTPClientTransport,
  options: { signal?: AbortSignal; timeout: number },
): Connection {
  const tasks = withTasks(client, transport, options.signal);
  return {
    async list(listedAt) {
      const { tools, ttlMs } = (await client.listTools(undefined, { ...options, cacheMode: "bypass" })) as {
        tools: Tool[];
        ttlMs?: unknown;
      };
      const discovered = client.getDiscoverResult();
      return {
        ...{ url: server.url, listedAt, tools: tools.map(toRemoteTool), omitted: 0 },
        ...(typeof ttlMs === "number" ? { ttlMs } : {}),
        ...(discovered ? { discovered } : {}),
      };
    },
    async call({ name, inputSchema }, args, timeoutMs, given) {
      const answers = given
        ? {
            inputResponses: given.responses,
            ...(given.state === undefined ? {} : { requestState: given.state }),
          }
        : {};
      const result: unknown = await client.callTool(
        { name, arguments: args, ...answers } as Parameters<Client["callTool"]>[0],
        {
          ...options,
          ...{ timeout: timeoutMs, maxTotalTimeout: timeoutMs, allowInputRequired: true },
          toolDefinition: { name, inputSchema: inputSchema as Tool["inputSchema"] },
        },
      );
      return tasks.take() ?? toAnswer(result);
    },
    task: async (taskId) => toTask(await tasks.ask("tasks/get", { taskId })),
    answer: async (taskId, inputResponses) => {
      await tasks.ask("tasks/update", { taskId, inputResponses });
    },
    cancel: async (taskId) => {
      await tasks.ask("tasks/cancel", { taskId });
    },
  };
}

function toAnswer(result: unknown): RemoteAnswer {
  const { resultType, inputRequests, requestState } = result as Record<string, unknown>;
  if (resultType !== "input_required") return { kind: "result", result };
  return {
    kind: "question",
    requests: (inputRequests ?? {}) as Record<string, unknown>,
    ...(typeof requestState === "string" ? { state: requestState } : {}),
  };
}

function toRemoteTool({ name, description, inputSchema, annotations }: Tool): RemoteTool {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema,
    ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
  };
}

/**
 * Adds the tasks extension, which the SDK does not know: a result that is a task is set aside before the SDK refuses it, and the
 * methods of tasks are sent beside it.
 */
function withTasks(
  client: Client,
  transport: StreamableHTTPClientTransport,
  signal: AbortSignal | undefined,
) {
  const deliver = transport.onmessage;
  const waiting = new Map<string, (message: JSONRPCMessage) => void>();
  let created: RemoteTask | undefined;
  let count = 0;
  transport.onmessage = (message: JSONRPCMessage) => {
    const own = "id" in message ? waiting.get(String(message.id)) : undefined;
    if (own) return own(message);
    if ("result" in message && isTaskResult(message.result)) {
      created = toTask(message.result);
      return deliver?.({ ...message, result: { resultType: "complete", content: [] } });
    }
    return deliver?.(message);
  };
  const envelope = () => ({
    "io.modelcontextprotocol/protocolVersion": client.getNegotiatedProtocolVersion(),
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  });
  return {
    take(): RemoteAnswer | undefined {
      const task = created;
      created = undefined;
      return task && { kind: "task", task };
    },
    async ask(method: string, params: Record<string, unknown>): Promise<unknown> {
      const id = `task-${++count}`;
      const limit = AbortSignal.timeout(askMs);
      const requestSignal = signal ? AbortSignal.any([signal, limit]) : limit;
      try {
        const answered = new Promise<JSONRPCMessage>((done, fail) => {
          waiting.set(id, done);
          requestSignal.addEventListener("abort", () => fail(requestSignal.reason as Error), { once: true });
        });
        answered.catch(() => {});
        const request = { jsonrpc: "2.0", id, method, params: { ...params, _meta: envelope() } } as const;
        await transport.send(request as JSONRPCMessage, { requestSignal });
        const message = await answered;
        if ("error" in message) throw new ProtocolError(message.error.code, message.error.message);
        return "result" in message ? message.result : undefined;
      } finally {
        waiting.delete(id);
      }
    },
  };
}

/** One sentence for whatever went wrong. */
function faultOf(server: ServerAddress, error: unknown, signal: AbortSignal | undefined): McpFault {
  const { name, url } = server;
  if (error instanceof McpFault) return error;
  if (signal?.aborted) return new McpFault(`${name}: it was stopped`, { isPassing: true });
  if (isStatus(error, 401) || error instanceof UnauthorizedError)
    return new McpFault(
      `${name} accepts no request without a valid login: run gsv mcp login ${name}, or set mcp.servers.${name}.auth.token`,
      { needsLogin: true },
    );
  if (isStatus(error, 403))
    return new McpFault(`${name} refuses this account (403): check what its token may do at the server`);
  if (isStatus(error, 404) || isStatus(error, 405))
    return new McpFault(`${name}: there is no MCP server at ${url}; correct mcp.servers.${name}.url`);
  if (error instanceof SdkHttpError)
    return new McpFault(`${name} answered with ${error.status}; try again later`, { isPassing: true });
  if (error instanceof ProtocolError)
    return new McpFault(`${name} refused the request (${error.code}): ${wordsOf(error.message)}`);
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return new McpFault(`${name} did not answer in time; try again, or raise mcp.servers.${name}.deadline`, {
      isPassing: true,
    });
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
    return new McpFault(`${name} sent an answer that is not MCP: tell its operator`);
  return new McpFault(
    `${name} could not be reached (${reasonOf(error)}): check mcp.servers.${name}.url and whether it runs`,
    { isPassing: true },
  );
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof SdkError && (error.data as { status?: unknown } | undefined)?.status === status;
}

/** The innermost reason of a failed connection. */
function reasonOf(error: unknown): string {
  let found = error;
  for (let depth = 0; depth < 5; depth++) {
    const { cause, data } = (found ?? {}) as { cause?: unknown; data?: { cause?: unknown } };
    const inner = cause ?? data?.cause;
    if (inner === undefined) break;
    found = inner;
  }
  const { code, message } = (found ?? {}) as { code?: unknown; message?: unknown };
  return typeof code === "string" && /^E[A-Z]+$/.test(code) ? code : wordsOf(message ?? found);
}
