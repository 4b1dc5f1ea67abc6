import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { cancelCapability, skillsCapability, transferCapability } from "../../shared/protocol/frames.ts";
import { Connection, type ConnectionTiming, type RequestError } from "../gateway/connection.ts";
import { describeState } from "../gateway/state-line.ts";
import { FileQueues } from "./files/node-files.ts";
import { FolderInstructions } from "./folder-instructions.ts";
import { LogBuffer } from "./log-buffer.ts";
import { NodeServers } from "./mcp/node-servers.ts";
import { serversStatusName } from "./mcp/servers-status.ts";
import { handleEvents } from "./node-events.ts";
import { Outbox } from "./result-outbox.ts";
import { type CallChange, NodeCalls } from "./running-calls.ts";
import { noJournal, openJournal } from "./shell/command-journal.ts";
import { startReports } from "./shell/command-reports.ts";
import { ShellSessions } from "./shell/shell-sessions.ts";
import { SkillMirrors } from "./skill-mirrors.ts";
import type { NodeTool } from "./tools/node-tool.ts";
import { describeHost, nodeTools } from "./tools/offered.ts";
import { FileTransfers } from "./transfer/file-transfers.ts";

export interface NodeOptions {
  url: string;
  token?: string;
  /** Prefix of the node's tool names for the model: `{nodeId}__{tool}`. */
  nodeId: string;
  /** Waits while another process uses the id. Otherwise the node stops with the gateway's 409. */
  waitsForPlace?: boolean;
  /** Base folder of relative paths. It must exist. */
  workspace: string;
  version: string;
  /** Folder of the journal of background commands, which survives this process. Default: no journal. */
  journalFolder?: string;
  /** The `mcp.json` whose servers the node runs, if it exists. Default: none. */
  mcpFile?: string;
  /** Environment of the commands. Default: that of this process. */
  environment?: NodeJS.ProcessEnv;
  /**
   * Called with each log line, and whether it is about a call. Lines contain the names of calls and tools, never
   * arguments or results.
   */
  onLog?(line: string, isOfCall: boolean): void;
  /** Called when a call begins and when it has ended. It receives arguments and results; do not log these. */
  onCall?(change: CallChange): void;
  timing?: Partial<NodeTiming>;
}

/** Timeouts and intervals of a node, in ms. */
interface NodeTiming extends ConnectionTiming {
  /** Interval of the `tools.list` requests that renew the node's registration. */
  keepaliveMs: number;
  /** Response timeout of one attempt to deliver a result. */
  deliveryMs: number;
}

export interface RunningNode {
  /** The connection: its state, and `open()`, which resolves when it is first connected. */
  connection: Connection;
  /**
   * Resolves when the node has stopped: with an error when the gateway refused it, with undefined after `stop`.
   */
  ended: Promise<RequestError | undefined>;
  /** Kills all commands and ends all servers, delivers pending results for at most 2 seconds, and disconnects. */
  stop(): Promise<void>;
}

/**
 * Connects this machine to the gateway as a node. It runs tool calls and resends each result until the
 * gateway acknowledges it. Reconnects until `stop`, or until the gateway refuses it permanently.
 * @throws Error when the workspace is not a folder.
 */
export function startNode(options: NodeOptions): RunningNode {
  const workspace = resolve(options.workspace);
  if (!statSync(workspace, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Error(`the workspace is not a folder: ${workspace}`);
  }
  const { environment = process.env } = options;
  const logs = new LogBuffer();
  const write = (line: string, isOfCall: boolean): void => {
    const stamped = `${new Date().toISOString()} ${line}`;
    logs.add(stamped);
    options.onLog?.(stamped, isOfCall);
  };
  const log = (line: string) => write(line, false);

  const servers = options.mcpFile === undefined ? undefined : openServers(options, workspace, log);
  const allTools = () => [...nodeTools, ...(servers?.tools ?? [])];
  const connection = connectionOf(options, async () => [
    ...nodeTools,
    ...((await servers?.announcement()) ?? []),
  ]);
  servers?.onTools(() => connection.reconnect("the tools of its MCP servers have changed"));
  const outbox = new Outbox(
    connection,
    (key, refusal) =>
      refusal ? log(`refused ${key}: ${refusal.code} ${refusal.message}`) : write(`delivered ${key}`, true),
    options.timing?.deliveryMs,
  );
  const journal = options.journalFolder ? openJournal(options.journalFolder, options) : noJournal;
  const reports = startReports(outbox, journal, log);
  const sessions = new ShellSessions(reports.follow, environment);
  const mirrors = new SkillMirrors({ gateway: connection, home: environment.HOME || homedir(), log });
  const instructions = new FolderInstructions(workspace);
  const calls = new NodeCalls(
    { workspace, sessions, files: new FileQueues() },
    outbox,
    {
      log: (line) => write(line, true),
      onCall: options.onCall ?? (() => {}),
      tools: allTools,
      prepare: (args, signal) => mirrors.provide(args, signal),
      extend: (result, call) => instructions.extend(result, call),
    },
    () => connection.maxRequestBytes,
  );

  connection.onState((state) => log(describeState(state)));
  const transfers = new FileTransfers({ gateway: connection, base: workspace, log });
  handleEvents({ connection, calls, logs, transfers, environment });
  const ended = untilClosed(
    connection,
    [sessions, ...(servers ? [servers] : [])],
    options.timing?.keepaliveMs,
  );
  connection.open().catch(() => {
    // `ended` carries the reason.
  });
  const stop = async (): Promise<void> => {
    await Promise.all([sessions.stop(), servers?.stop()]);
    transfers.pause();
    await calls.settled(1000);
    await outbox.settled(1000);
    await connection.close();
  };
  return { connection, ended, stop };
}

function openServers(
  { mcpFile = "", journalFolder, environment = process.env, version }: NodeOptions,
  workspace: string,
  log: (line: string) => void,
): NodeServers {
  const statusFile =
    journalFolder === undefined ? {} : { statusFile: join(journalFolder, serversStatusName) };
  return new NodeServers({ file: mcpFile, ...statusFile, workspace, environment, version, log });
}

function connectionOf(options: NodeOptions, tools: () => Promise<readonly NodeTool[]>): Connection {
  return new Connection({
    url: options.url,
    token: options.token,
    client: {
      id: options.nodeId,
      version: options.version,
      platform: process.platform,
      mode: "node",
      instance: randomUUID(),
    },
    waitsForPlace: options.waitsForPlace,
    announce: async () => {
      const offered = await tools();
      const nodeRuntime = describeHost(options.environment ?? process.env, process.platform, offered);
      return { tools: offered.map((tool) => tool.definition), nodeRuntime };
    },
    capabilities: [cancelCapability, transferCapability, skillsCapability],
    timing: options.timing,
  });
}

/** Runs the keepalive until the connection closes, and kills all commands and servers when this process exits. */
async function untilClosed(
  connection: Connection,
  running: readonly { killNow(): void; stop(): Promise<void> }[],
  keepaliveMs = 300_000,
): Promise<RequestError | undefined> {
  const killNow = (): void => {
    for (const one of running) one.killNow();
  };
  process.once("exit", killNow);
  const keepalive = setInterval(() => quietly(connection.request("tools.list")), keepaliveMs);
  const error = await new Promise<RequestError | undefined>((resolve) => {
    connection.onState((state) => {
      if (state.status === "closed") resolve(state.error);
    });
  });
  clearInterval(keepalive);
  await Promise.all(running.map((one) => one.stop()));
  process.off("exit", killNow);
  return error;
}

/** Ignores a rejection: after a lost connection the result is not needed. */
function quietly(request: Promise<unknown>): void {
  request.catch(() => {});
}
