import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { configFolder } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure } from "../../app/failure.ts";
import type { Invocation } from "../../app/options.ts";
import { readSecret } from "../../app/questions.ts";
import { freeName } from "../../gateway/machine-token.ts";
import { type ServersStatus, serversStatusName } from "../../node/mcp/servers-status.ts";
import type { PreparedService, ServiceKind } from "../daemon/service-commands.ts";
import { nodePlace } from "./node-settings.ts";

/** The node as a service: `gsv node install`, … */
export const nodeService: ServiceKind = {
  id: "node",
  title: "the node",
  summary: "gsv node: gives its agent access to this machine",
  command: "gsv node",
  words: ["node"],
  logsElsewhere: "`gsv logs` shows the log of a node that is not a service",
  prepare,
  async facts(context, { node }) {
    const mcp = await readServers(context);
    return {
      result: { nodeId: node?.id, workspace: node?.workspace, mcp },
      place: [
        ["node", node?.id],
        ["workspace", node?.workspace],
      ],
      ...(mcp ? { more: serverRows(mcp) } : {}),
    };
  },
};

async function prepare(context: Context, options: Invocation["options"]): Promise<PreparedService> {
  const settings = await context.settings();
  const { url, token } = await context.address();
  const { nodeId, workspace } = nodePlace(context, settings, options);
  if (!(await isFolder(workspace)))
    throw new Failure("workspace", `${workspace} is not a folder; choose one with --workspace`);
  const asked = token === "-" ? await askToken(context) : context.flags.token;
  const given = asked ?? (await nodeToken(context, nodeId, token));
  return {
    config: { gateway: { url, token: given }, node: { id: nodeId, workspace } },
    folder: workspace,
    result: { nodeId, workspace, url },
    effect: `it is ${nodeId} and gives ${url} access to ${workspace}`,
  };
}

/**
 * The token for the service: the one in use if a node may connect with it and nobody may administer with it, else a new one,
 * which needs admin rights. A gateway that cannot be reached is not asked: the service will report a token that it refuses.
 */
async function nodeToken(context: Context, nodeId: string, token: string): Promise<string> {
  const gateway = await context.gateway(false).catch(() => undefined);
  const { scopes } = gateway?.hello ?? {};
  const isKept = scopes === undefined || (scopes.includes("node") && !scopes.includes("admin"));
  if (gateway === undefined || isKept) return token;
  const { tokens } = await gateway.request("token.list");
  const name = freeName(nodeId, tokens);
  return (await gateway.request("token.create", { name, scopes: ["node"] })).token;
}

async function askToken({ terminal }: Context): Promise<string> {
  const token = await readSecret(terminal, "Token");
  if (token === "") throw new Failure("config", "no token was given; nothing was installed");
  return token;
}

/** The MCP servers of the running node; undefined when no node runs that has an mcp.json. */
async function readServers({ terminal }: Context): Promise<ServersStatus | undefined> {
  const file = join(configFolder(terminal.env), "node", serversStatusName);
  try {
    const status = JSON.parse(await readFile(file, "utf8")) as ServersStatus;
    process.kill(status.pid, 0);
    return status.servers.length + status.faults.length > 0 ? status : undefined;
  } catch {
    return undefined;
  }
}

function serverRows({ servers, faults }: ServersStatus): [string, string][] {
  const rows = servers.map((server): [string, string] => {
    if (server.state === "disabled") return [`mcp ${server.name}`, "disabled"];
    const { state, tools, restarts, error } = server;
    const facts = [`${tools} tools`, restarts > 0 ? `started again ${restarts} times` : "", error ?? ""];
    return [`mcp ${server.name}`, [state, ...facts].filter((fact) => fact !== "").join(", ")];
  });
  return [...rows, ...faults.map((fault): [string, string] => ["mcp fault", fault])];
}

async function isFolder(folder: string): Promise<boolean> {
  return (await stat(folder).catch(() => undefined))?.isDirectory() ?? false;
}
