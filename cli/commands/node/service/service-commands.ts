import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { homedir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { moment, pairs } from "../../../app/columns.ts";
import { configFolder, readConfigFile, updateConfigFile } from "../../../app/config-file.ts";
import type { Context } from "../../../app/context.ts";
import { Failure, failureOf } from "../../../app/failure.ts";
import { programFile } from "../../../app/installation.ts";
import { type Invocation, wholeNumber } from "../../../app/options.ts";
import { untilSignal } from "../../../app/process/signals.ts";
import type { Action } from "../../../app/program.ts";
import { askHidden, readAll } from "../../../app/questions.ts";
import { writeText } from "../../../app/terminal.ts";
import { byLine, followLog, newestLines } from "../../logs/log-files.ts";
import { programRunner } from "../../program/run-program.ts";
import { nodePlace } from "../node-settings.ts";
import { openLaunchd } from "./launchd.ts";
import { type ServiceState, type Supervisor, withoutSupervisor } from "./supervisor.ts";
import { openSystemd } from "./systemd.ts";

type ServiceCommand = "install" | "uninstall" | "start" | "stop" | "status" | "logs";

/** Lines of the log in which `status` looks for the last fault. */
const statusLines = 2000;

/** The actions of `gsv node install` and its like on an operating system. */
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
  /** Holds url, token, id and workspace of the service; nobody else can read it. */
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
  throw new Failure("no-service", `on ${platform} there is no service of gsv; ${withoutSupervisor}`);
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
  const given = token === "-" ? await askToken(context) : token;
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
  const told = `the node ${nodeId} runs as a service of ${supervisor.name}, now and after each start of this machine: it lends ${workspace} to ${url}\n\`gsv node status\` shows whether it is connected, \`gsv node logs -f\` what it does`;
  context.print({ ...result, ...(todo ? { todo } : {}) }, told);
  if (todo && !context.json) context.note(`gsv: ${todo}`);
}

async function askToken({ terminal }: Context): Promise<string> {
  const token = terminal.stdin.isTTY ? await askHidden(terminal, "Token") : await readAll(terminal.stdin);
  if (token === "") throw new Failure("config", "no token was given; nothing was installed");
  return token;
}

async function uninstall({ context, supervisor, config, log }: NodeService): Promise<void> {
  const wasInstalled = await exists(supervisor.file);
  // The token goes first: it must not stay where the supervisor cannot be reached.
  await rm(config, { force: true });
  if (wasInstalled) await end(supervisor);
  await rm(supervisor.file, { force: true });
  const told = wasInstalled
    ? `the service and its token are removed from this machine; its log stays: ${log}`
    : "the node is not installed as a service";
  context.print({ ok: true, removed: wasInstalled, log }, told);
}

/** Has the supervisor end and forget the service. @throws Failure that says what is left, when it does not */
async function end(supervisor: Supervisor): Promise<void> {
  try {
    await supervisor.check();
    await supervisor.deactivate();
  } catch (error) {
    const { kind, message } = failureOf(error);
    const left = `the token is removed, but the service is not, and may run until this machine stops; repeat \`gsv node uninstall\` when ${supervisor.name} answers, and revoke the token`;
    throw new Failure(kind, `${left}: ${message}`);
  }
}

async function change({ context, supervisor }: NodeService, how: "start" | "stop"): Promise<void> {
  if (!(await exists(supervisor.file))) throw notInstalled();
  await supervisor.check();
  await supervisor[how]();
  const told =
    how === "start"
      ? "the service runs"
      : "the service is stopped until `gsv node start`, or the next start of this machine";
  context.print({ ok: true, running: how === "start" }, told);
}

async function showStatus({ context, supervisor, config, log }: NodeService): Promise<void> {
  const installed = await exists(supervisor.file);
  const fault = await supervisor.check().then(
    () => undefined,
    (error: unknown) => failureOf(error).message,
  );
  const state = installed && fault === undefined ? await supervisor.state() : undefined;
  const { gateway, node } = await readConfigFile(config);
  const news = connectionNews((await newestLines(log, statusLines)).lines);
  const told = {
    supervisor: supervisor.name,
    file: supervisor.file,
    nodeId: node?.id,
    workspace: node?.workspace,
    url: gateway?.url,
    log,
  };
  const shown = pairs([
    [
      "service",
      installed ? (state ? stateText(state) : "installed") : "not installed; `gsv node install` does that",
    ],
    ["node", installed ? node?.id : undefined],
    ["workspace", installed ? node?.workspace : undefined],
    ["gateway", installed ? gateway?.url : undefined],
    ["connection", news.last && `${news.last.text} (${news.last.at})`],
    ["last error", news.lastError && `${news.lastError.text} (${news.lastError.at})`],
    ["last exit", state?.lastExit],
    ["after logout", state && (state.survivesLogout ? "goes on" : "ends")],
    ["described in", installed ? supervisor.file : undefined],
    ["log", log],
    ["problem", fault],
  ]);
  context.print({ installed, running: state?.running ?? false, ...told, ...state, ...news, fault }, shown);
}

function stateText({ running, pid, since }: ServiceState): string {
  if (!running) return "installed, stopped; `gsv node start` starts it";
  return `runs${since === undefined ? "" : ` since ${moment(since)}`}${pid === undefined ? "" : ` (pid ${pid})`}`;
}

async function showLog(
  { context, supervisor, log }: NodeService,
  options: Invocation["options"],
): Promise<void> {
  const most = wholeNumber("--lines", options.lines, 1, 100_000) ?? 100;
  const isThere = await exists(log);
  if (!isThere && !(await exists(supervisor.file))) {
    const failure = notInstalled();
    const other = "`gsv logs` shows the log of a node that runs otherwise";
    throw new Failure(failure.kind, `there is no log ${log}: ${failure.message}; ${other}`);
  }
  const { lines, end } = await newestLines(log, most);
  const none = isThere ? `${log} is empty` : `${log} is not there yet`;
  const nothing = `${none}: the service has written nothing; \`gsv node status\` shows whether it runs`;
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
  return new Failure("not-installed", "the node is not installed as a service; `gsv node install` does that");
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

/** What the newest lines tell of the connection: its last change, and its last fault. */
function connectionNews(lines: readonly string[]): { last?: LogLine; lastError?: LogLine } {
  const parsed = lines.map((line) => {
    const [, at = "", text = ""] = /^(\S+) (.*)$/.exec(line) ?? [];
    return { at, text };
  });
  const newest = (pattern: RegExp) => parsed.findLast(({ text }) => pattern.test(text));
  const last = newest(/^(connect|disconnect|clos|ended)/);
  const lastError = newest(/^(disconnected|closed|ended): /);
  return { ...(last ? { last } : {}), ...(lastError ? { lastError } : {}) };
}
