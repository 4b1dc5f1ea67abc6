import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { homedir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { moment, pairs } from "../../../app/columns.ts";
import { configFolder, readConfigFile, updateConfigFile } from "../../../app/config-file.ts";
import type { Context } from "../../../app/context.ts";
import { Failure, failureOf } from "../../../app/failure.ts";
import { programFile } from "../../../app/installation.ts";
import { type Invocation, wholeNumber } from "../../../app/options.ts";
import type { Action } from "../../../app/program.ts";
import { askHidden, readAll } from "../../../app/questions.ts";
import { untilSignal } from "../../../app/signals.ts";
import { writeText } from "../../../app/terminal.ts";
import { freeName } from "../../../gateway/machine-token.ts";
import { type ServersStatus, serversStatusName } from "../../../node/mcp/servers-status.ts";
import { byLine, followLog, newestLines } from "../../logs/log-files.ts";
import { programRunner } from "../../program/run-program.ts";
import { nodePlace } from "../node-settings.ts";
import { openLaunchd } from "./launchd.ts";
import { type ServiceState, type Supervisor, withoutSupervisor } from "./supervisor.ts";
import { openSystemd } from "./systemd.ts";

type ServiceCommand = "install" | "uninstall" | "start" | "stop" | "status" | "logs";

/** Number of newest log lines that `status` searches for the last error. */
const statusLines = 2000;

/** The actions of `gsv node install`, `uninstall`, … on an operating system. */
export function serviceCommands(platform: NodeJS.Platform): Record<ServiceCommand, Action> {
  return {
    install: (context, { options }) => install(openService(context, platform), options),
    uninstall: (context) => uninstall(openService(context, platform)),
    start: (context) => change(openService(context, platform), "start"),
    stop: (context) => change(openService(context, platform), "stop"),
    status: (context) => showStatus(openService(context, platform)),
    logs: (context, { options }) => showLog(openService(context, platform), options),
  };
}

/** The service of a user on this machine: its supervisor, and its files. */
interface NodeService {
  context: Context;
  supervisor: Supervisor;
  /** File with url, token, id and workspace of the service. Only the user can read it. */
  config: string;
  log: string;
}

function openService(context: Context, platform: NodeJS.Platform): NodeService {
  const { env } = context.terminal;
  const home = env.HOME || homedir();
  const run = programRunner(env);
  const config = join(configFolder(env), "node-service.toml");
  if (platform === "linux") {
    const user = userInfo().username;
    const supervisor = openSystemd(run, { configHome: env.XDG_CONFIG_HOME || join(home, ".config"), user });
    const state = env.XDG_STATE_HOME || join(home, ".local/state");
    return { context, supervisor, config, log: join(state, "gsv/node.log") };
  }
  if (platform === "darwin") {
    const supervisor = openLaunchd(run, { home, uid: userInfo().uid });
    return { context, supervisor, config, log: join(home, "Library/Logs/gsv/node.log") };
  }
  throw new Failure("no-service", `gsv cannot install a service on ${platform}; ${withoutSupervisor}`);
}

async function install(
  { context, supervisor, config, log }: NodeService,
  options: Invocation["options"],
): Promise<void> {
  await supervisor.check();
  const { terminal } = context;
  const settings = await context.settings();
  const { url, token } = await context.address();
  const { nodeId, workspace } = nodePlace(context, settings, options);
  if (!(await isFolder(workspace)))
    throw new Failure("workspace", `${workspace} is not a folder; choose one with --workspace`);
  const asked = token === "-" ? await askToken(context) : context.flags.token;
  const given = asked ?? (await nodeToken(context, nodeId, token));
  await updateConfigFile(config, { gateway: { url, token: given }, node: { id: nodeId, workspace } });
  await mkdir(dirname(log), { recursive: true, mode: 0o700 });
  await mkdir(dirname(supervisor.file), { recursive: true });
  const command = [process.execPath, programFile(), "--config", config, "node", "--unattended", log];
  const path = terminal.env.PATH ?? "";
  const described = supervisor.describe({ command, path, folder: workspace, logs: dirname(log) });
  await writeFile(supervisor.file, described, { mode: 0o600 });
  await supervisor.activate();
  const todo = await supervisor.keepAfterLogout();
  const result = {
    ok: true,
    nodeId,
    workspace,
    url,
    supervisor: supervisor.name,
    file: supervisor.file,
    config,
    log,
  };
  const message = `the node ${nodeId} runs as a ${supervisor.name} service, now and after each boot: it gives ${url} access to ${workspace}\n\`gsv node status\` shows whether it is connected, \`gsv node logs -f\` what it does`;
  context.print({ ...result, ...(todo ? { todo } : {}) }, message);
  if (todo && !context.json) context.note(`gsv: ${todo}`);
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
  const token = terminal.stdin.isTTY ? await askHidden(terminal, "Token") : await readAll(terminal.stdin);
  if (token === "") throw new Failure("config", "no token was given; nothing was installed");
  return token;
}

async function uninstall({ context, supervisor, config, log }: NodeService): Promise<void> {
  const wasInstalled = await exists(supervisor.file);
  // Remove the token first, so that it does not remain when the supervisor cannot be reached.
  await rm(config, { force: true });
  if (wasInstalled) await deactivate(supervisor);
  await rm(supervisor.file, { force: true });
  const message = wasInstalled
    ? `removed the service and its token from this machine; its log remains: ${log}`
    : "the node is not installed as a service";
  context.print({ ok: true, removed: wasInstalled, log }, message);
}

/** Makes the supervisor stop and forget the service. @throws Failure that says what remains */
async function deactivate(supervisor: Supervisor): Promise<void> {
  try {
    await supervisor.check();
    await supervisor.deactivate();
  } catch (error) {
    const { kind, message } = failureOf(error);
    const remains = `the token was removed, but the service was not and may run until this machine stops; run \`gsv node uninstall\` again when ${supervisor.name} answers, and revoke the token`;
    throw new Failure(kind, `${remains}: ${message}`);
  }
}

async function change({ context, supervisor }: NodeService, how: "start" | "stop"): Promise<void> {
  if (!(await exists(supervisor.file))) throw notInstalled();
  await supervisor.check();
  await supervisor[how]();
  const message =
    how === "start"
      ? "the service is running"
      : "the service is stopped until `gsv node start` or the next boot";
  context.print({ ok: true, running: how === "start" }, message);
}

async function showStatus({ context, supervisor, config, log }: NodeService): Promise<void> {
  const installed = await exists(supervisor.file);
  const fault = await supervisor.check().then(
    () => undefined,
    (error: unknown) => failureOf(error).message,
  );
  const state = installed && fault === undefined ? await supervisor.state() : undefined;
  const { gateway, node } = await readConfigFile(config);
  const connection = lastConnection((await newestLines(log, statusLines)).lines);
  const files = {
    supervisor: supervisor.name,
    file: supervisor.file,
    nodeId: node?.id,
    workspace: node?.workspace,
    url: gateway?.url,
    log,
  };
  const mcp = await readServers(context);
  const shown = pairs([
    [
      "service",
      installed ? (state ? stateText(state) : "installed") : "not installed; `gsv node install` installs it",
    ],
    ["node", installed ? node?.id : undefined],
    ["workspace", installed ? node?.workspace : undefined],
    ["gateway", installed ? gateway?.url : undefined],
    ["connection", connection.last && `${connection.last.text} (${connection.last.at})`],
    ["last error", connection.lastError && `${connection.lastError.text} (${connection.lastError.at})`],
    ["last exit", state?.lastExit],
    ["after logout", state && (state.survivesLogout ? "keeps running" : "stops")],
    ["described in", installed ? supervisor.file : undefined],
    ["log", log],
    ["problem", fault],
    ...(mcp ? serverRows(mcp) : []),
  ]);
  context.print(
    { installed, running: state?.running ?? false, ...files, ...state, ...connection, fault, mcp },
    shown,
  );
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

function stateText({ running, pid, since }: ServiceState): string {
  if (!running) return "installed, stopped; `gsv node start` starts it";
  return `running${since === undefined ? "" : ` since ${moment(since)}`}${pid === undefined ? "" : ` (pid ${pid})`}`;
}

async function showLog(
  { context, supervisor, log }: NodeService,
  options: Invocation["options"],
): Promise<void> {
  const maxLines = wholeNumber("--lines", options.lines, 1, 100_000) ?? 100;
  const isThere = await exists(log);
  if (!isThere && !(await exists(supervisor.file))) {
    const failure = notInstalled();
    const other = "`gsv logs` shows the log of a node that is not a service";
    throw new Failure(failure.kind, `there is no log ${log}: ${failure.message}; ${other}`);
  }
  const { lines, end } = await newestLines(log, maxLines);
  const none = isThere ? `${log} is empty` : `${log} does not exist yet`;
  const nothing = `${none}: the service has logged nothing; \`gsv node status\` shows whether it is running`;
  if (options.follow !== true) {
    context.print({ file: log, lines }, lines.join("\n") || nothing);
    return;
  }
  if (lines.length === 0 && !context.json) context.note(`gsv: ${nothing}`);
  const show = context.json
    ? byLine((line) => context.print({ line }, ""))
    : (more: string) => writeText(context.terminal.stdout, more);
  for (const line of lines) show(`${line}\n`);
  const signal = untilSignal();
  try {
    await followLog(log, end, show, signal.received);
  } finally {
    signal.dispose();
  }
}

function notInstalled(): Failure {
  return new Failure(
    "not-installed",
    "the node is not installed as a service; `gsv node install` installs it",
  );
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}

async function isFolder(folder: string): Promise<boolean> {
  return (await stat(folder).catch(() => undefined))?.isDirectory() ?? false;
}

/** A line of a node's log: its time and its text. */
interface LogLine {
  at: string;
  text: string;
}

/** The last change and the last error of the connection, according to the newest log lines. */
function lastConnection(lines: readonly string[]): { last?: LogLine; lastError?: LogLine } {
  const parsed = lines.map((line) => {
    const [, at = "", text = ""] = /^(\S+) (.*)$/.exec(line) ?? [];
    return { at, text };
  });
  const newest = (pattern: RegExp) => parsed.findLast(({ text }) => pattern.test(text));
  const last = newest(/^(connect|disconnect|clos|ended)/);
  const lastError = newest(/^(disconnected|closed|ended): /);
  return { ...(last ? { last } : {}), ...(lastError ? { lastError } : {}) };
}
