import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import * as v from "valibot";
import packageFile from "../../package.json" with { type: "json" };
import type { GatewayLink } from "../../shared/peers/gateway-link.ts";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import { logError } from "../../shared/runtime/log.ts";
import type { World } from "../../shared/world/world.ts";
import {
  beginAsk,
  cancelTask,
  lookAtTask,
  readTaskId,
  type TaskState,
  taskOf,
  waitForAnswer,
} from "./ask-tool.ts";
import { errorResult, jsonResult, nodeResult, type ToolResult } from "./program-result.ts";
import { type ListedTool, type OwnTool, ownTools } from "./tool-list.ts";

/** The extension with which a call of a tool returns a task (revision 2026-07-28). */
const tasksExtension = "io.modelcontextprotocol/tasks";

/** One request of a program. */
export interface ProgramRequest extends Pick<World, "now" | "pause"> {
  /** The id of its token. */
  program: string;
  /** Whether the token may use the tools of nodes. */
  mayUseNodes: boolean;
  /** The connection with the program's token; opened at the first call. @throws PeerError */
  link(): Promise<GatewayLink>;
}

const line = (max: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(max));
const limit = v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)), 20);

/** The arguments of the gateway's own tools, and what they do. */
const calls: Record<
  OwnTool,
  (args: unknown, request: ProgramRequest, isTask: boolean) => Promise<ToolResult | TaskState>
> = {
  async ask(args, request, isTask) {
    const asking = read(
      v.object({ message: line(90_000), session: v.optional(line(64)), id: v.optional(line(200)) }),
      args,
    );
    const link = await request.link();
    const asked = await beginAsk(link, request.program, asking, request.now());
    if ("content" in asked) return asked;
    if (isTask) return taskOf(asked, request.now());
    return waitForAnswer(link, asked, asking.id, request);
  },
  async sessions(args, { link }) {
    const { limit: most } = read(v.object({ limit }), args);
    return jsonResult((await (await link()).request("sessions.list", { limit: most })).sessions);
  },
  async search(args, { link }) {
    const { query, limit: most } = read(v.object({ query: line(2000), limit }), args);
    return jsonResult(await (await link()).request("session.search", { query, limit: Math.min(most, 50) }));
  },
  async memory(args, { link }) {
    const { query = "", limit: most } = read(
      v.object({ query: v.optional(v.pipe(v.string(), v.maxLength(2000))), limit }),
      args,
    );
    const { memories } = await (await link()).request("memory.list", { query, limit: most });
    return jsonResult(memories);
  },
};

/** @throws PeerError 400 */
function read<S extends v.GenericSchema>(schema: S, args: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, args ?? {}, { abortEarly: true });
  if (result.success) return result.output;
  throw new PeerError(
    code.badRequest,
    `${v.getDotPath(result.issues[0]) ?? "arguments"}: ${result.issues[0].message}`,
  );
}

/** The server of one request. It keeps no state: the gateway has the runs, and a task's id names its run. */
export function createProgramServer(request: ProgramRequest, era: "legacy" | "modern"): Server {
  const isModern = era === "modern";
  const extensions = isModern ? { extensions: { [tasksExtension]: {} } } : {};
  const server = new Server(
    { name: "gsv", title: "gsv", version: packageFile.version },
    {
      capabilities: { tools: {}, ...extensions },
      instructions: "ask reaches the user's own agent. Tools named node__tool run on the user's machines.",
    },
  );
  server.setRequestHandler("tools/list", async () => ({ tools: await listTools(request) }));
  server.setRequestHandler("tools/call", async ({ params: { name, arguments: args } }, { mcpReq }) => {
    const isTask = isModern && acceptsTasks(mcpReq.envelope);
    const result = await callTool(request, name, args, isTask);
    // A task takes the place of the result.
    return ("taskId" in result ? { ...result, resultType: "task", content: [] } : result) as ToolResult;
  });
  if (isModern) serveTasks(server, request);
  return server;
}

async function listTools({ mayUseNodes, link }: ProgramRequest): Promise<ListedTool[]> {
  if (!mayUseNodes) return [...ownTools];
  const { tools } = await (await link()).request("tools.list", {});
  const ofNodes = tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema: { ...inputSchema, type: "object" as const },
  }));
  return [...ownTools, ...ofNodes];
}

/** Carries out a call. Its failures are results, which the program's model reads. @throws ProtocolError for an unknown tool */
async function callTool(
  request: ProgramRequest,
  name: string,
  args: Record<string, unknown> = {},
  isTask: boolean,
): Promise<ToolResult | TaskState> {
  try {
    if (Object.hasOwn(calls, name)) return await calls[name as OwnTool](args, request, isTask);
    if (!name.includes("__"))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 64)}`);
    const link = await request.link();
    return nodeResult((await link.request("tool.invoke", { tool: name, args })).result);
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    if (error instanceof PeerError) return errorResult(error.message);
    logError("mcp.tool", error, { tool: name.slice(0, 64) });
    return errorResult("internal error");
  }
}

/** Whether the program of a request understands tasks. */
function acceptsTasks(envelope: unknown): boolean {
  const capabilities = (envelope as Record<string, unknown> | undefined)?.[
    "io.modelcontextprotocol/clientCapabilities"
  ];
  const extensions = (capabilities as { extensions?: Record<string, unknown> } | undefined)?.extensions;
  return extensions !== undefined && Object.hasOwn(extensions, tasksExtension);
}

const taskParams = v.object({ taskId: line(1000) });

function serveTasks(server: Server, request: ProgramRequest): void {
  const unknown = () => new ProtocolError(ProtocolErrorCode.InvalidParams, "Unknown task");
  const runOf = (taskId: string) => {
    const asked = readTaskId(taskId);
    if (asked === undefined) throw unknown();
    return asked;
  };
  server.setRequestHandler("tasks/get", { params: taskParams }, async ({ taskId }) => {
    const task = await lookAtTask(await request.link(), runOf(taskId), request.now());
    if (task === undefined) throw unknown();
    return { ...task };
  });
  server.setRequestHandler("tasks/cancel", { params: taskParams }, async ({ taskId }) => {
    await cancelTask(await request.link(), runOf(taskId));
    return {};
  });
  // No task of this gateway asks for input: the answer to a late one is accepted and dropped.
  server.setRequestHandler("tasks/update", { params: taskParams }, async ({ taskId }) => {
    runOf(taskId);
    return {};
  });
}
