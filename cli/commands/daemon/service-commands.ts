import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { homedir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { moment, pairs } from "../../app/columns.ts";
import { type ConfigFile, configFolder, readConfigFile, updateConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, failureOf } from "../../app/failure.ts";
import { programFile } from "../../app/installation.ts";
import { type Invocation, wholeNumber } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { untilSignal } from "../../app/signals.ts";
import { writeText } from "../../app/terminal.ts";
import { byLine, followLog, newestLines } from "../logs/log-files.ts";
import { programRunner } from "../program/run-program.ts";
import { openLaunchd } from "./launchd.ts";
import { type ServiceName, type ServiceState, type Supervisor, withoutSupervisor } from "./supervisor.ts";
import { openSystemd } from "./systemd.ts";

export type ServiceCommand = "install" | "uninstall" | "start" | "stop" | "status" | "logs";

/** A program of `gsv` that can run as a service. */
export interface ServiceKind extends ServiceName {
  /** The words of its command: `node`. It accepts `--unattended <log file>`. */
  words: readonly string[];
  /** Where to look for a log when the program is no service. */
  logsElsewhere?: string;
  /** Asks for what the service needs, and checks it. @throws Failure; then nothing is installed */
  prepare(context: Context, options: Invocation["options"]): Promise<PreparedService>;
  /** What `status` shows besides the state: facts for `--json`, and lines for people. */
  facts(context: Context, config: ConfigFile): Promise<ServiceFacts>;
}

/** A service that is about to be installed. */
export interface PreparedService {
  /** What the service reads from its config file, with its token. */
  config: ConfigFile;
  /** Working directory, absolute. */
  folder: string;
  /** What `--json` prints about it. */
  result: Record<string, unknown>;
  /** What it does from now on: "it gives wss://… access to /home/ann". */
  effect: string;
}

export interface ServiceFacts {
  result: Record<string, unknown>;
  /** Shown when the service is installed. */
  place: [string, string | undefined][];
  /** Shown in any case, after all others. */
  more?: [string, string][];
}

/** Number of newest log lines that `status` searches for the last error. */
const statusLines = 2000;

/** The actions of `gsv node install`, `uninstall`, … on an operating system. */
export function serviceCommands(
  kind: ServiceKind,
  platform: NodeJS.Platform,
): Record<ServiceCommand, Action> {
  const open = (context: Context) => openService(kind, context, platform);
  return {
    install: (context, { options }) => install(open(context), options),
    uninstall: (context) => uninstall(open(context)),
    start: (context) => change(open(context), "start"),
    stop: (context) => change(open(context), "stop"),
    status: (context) => showStatus(open(context)),
    logs: (context, { options }) => showLog(open(context), options),
  };
}

/** The service of a user on this machine: its supervisor, and its files. */
interface Service {
  kind: ServiceKind;
  context: Context;
  supervisor: Supervisor;
  /** File with the service's url, token and settings. Only the user can read it. */
  config: string;
  log: string;
}

function openService(kind: ServiceKind, context: Context, platform: NodeJS.Platform): Service {
  const { env } = context.terminal;
  const home = env.HOME || homedir();
  const run = programRunner(env);
  const config = join(configFolder(env), `${kind.id}-service.toml`);
  if (platform === "linux") {
    const user = userInfo().username;
    const configHome = env.XDG_CONFIG_HOME || join(home, ".config");
    const supervisor = openSystemd(run, kind, { configHome, user });
    const state = env.XDG_STATE_HOME || join(home, ".local/state");
    return { kind, context, supervisor, config, log: join(state, `gsv/${kind.id}.log`) };
  }
  if (platform === "darwin") {
    const supervisor = openLaunchd(run, kind, { home, uid: userInfo().uid });
    return { kind, context, supervisor, config, log: join(home, `Library/Logs/gsv/${kind.id}.log`) };
  }
  throw new Failure("no-service", `gsv cannot install a service on ${platform}; ${withoutSupervisor(kind)}`);
}

async function install(
  { kind, context, supervisor, config, log }: Service,
  options: Invocation["options"],
): Promise<void> {
  await supervisor.check();
  const prepared = await kind.prepare(context, options);
  await updateConfigFile(config, prepared.config);
  await mkdir(dirname(log), { recursive: true, mode: 0o700 });
  await mkdir(dirname(supervisor.file), { recursive: true });
  const command = [process.execPath, programFile(), "--config", config, ...kind.words, "--unattended", log];
  const path = context.terminal.env.PATH ?? "";
  const described = supervisor.describe({ command, path, folder: prepared.folder, logs: dirname(log) });
  await writeFile(supervisor.file, described, { mode: 0o600 });
  await supervisor.activate();
  const todo = await supervisor.keepAfterLogout();
  const result = {
    ok: true,
    ...prepared.result,
    supervisor: supervisor.name,
    file: supervisor.file,
    config,
    log,
  };
  const message = `${kind.title} runs as a ${supervisor.name} service, now and after each boot: ${prepared.effect}\n\`${kind.command} status\` shows whether it is connected, \`${kind.command} logs -f\` what it does`;
  context.print({ ...result, ...(todo ? { todo } : {}) }, message);
  if (todo && !context.json) context.note(`gsv: ${todo}`);
}

async function uninstall(service: Service): Promise<void> {
  const { kind, context, supervisor, config, log } = service;
  const wasInstalled = await exists(supervisor.file);
  // Remove the token first, so that it does not remain when the supervisor cannot be reached.
  await rm(config, { force: true });
  if (wasInstalled) await deactivate(service);
  await rm(supervisor.file, { force: true });
  const message = wasInstalled
    ? `removed the service and its token from this machine; its log remains: ${log}`
    : `${kind.title} is not installed as a service`;
  context.print({ ok: true, removed: wasInstalled, log }, message);
}

/** Makes the supervisor stop and forget the service. @throws Failure that says what remains */
async function deactivate({ kind: { command }, supervisor }: Service): Promise<void> {
  try {
    await supervisor.check();
    await supervisor.deactivate();
  } catch (error) {
    const { kind, message } = failureOf(error);
    const remains = `the token was removed, but the service was not and may run until this machine stops; run \`${command} uninstall\` again when ${supervisor.name} answers, and revoke the token`;
    throw new Failure(kind, `${remains}: ${message}`);
  }
}

async function change({ kind, context, supervisor }: Service, how: "start" | "stop"): Promise<void> {
  if (!(await exists(supervisor.file))) throw notInstalled(kind);
  await supervisor.check();
  await supervisor[how]();
  const message =
    how === "start"
      ? "the service is running"
      : `the service is stopped until \`${kind.command} start\` or the next boot`;
  context.print({ ok: true, running: how === "start" }, message);
}

async function showStatus({ kind, context, supervisor, config, log }: Service): Promise<void> {
  const installed = await exists(supervisor.file);
  const fault = await supervisor.check().then(
    () => undefined,
    (error: unknown) => failureOf(error).message,
  );
  const state = installed && fault === undefined ? await supervisor.state() : undefined;
  const stored = await readConfigFile(config);
  const connection = lastConnection((await newestLines(log, statusLines)).lines);
  const facts = await kind.facts(context, stored);
  const url = stored.gateway?.url;
  const shown = pairs([
    [
      "service",
      installed
        ? state
          ? stateText(kind, state)
          : "installed"
        : `not installed; \`${kind.command} install\` installs it`,
    ],
    ...(installed ? facts.place : []),
    ["gateway", installed ? url : undefined],
    ["connection", connection.last && `${connection.last.text} (${connection.last.at})`],
    ["last error", connection.lastError && `${connection.lastError.text} (${connection.lastError.at})`],
    ["last exit", state?.lastExit],
    ["after logout", state && (state.survivesLogout ? "keeps running" : "stops")],
    ["described in", installed ? supervisor.file : undefined],
    ["log", log],
    ["problem", fault],
    ...(facts.more ?? []),
  ]);
  const files = { supervisor: supervisor.name, file: supervisor.file, url, log };
  context.print(
    {
      installed,
      running: state?.running ?? false,
      ...files,
      ...state,
      ...connection,
      fault,
      ...facts.result,
    },
    shown,
  );
}

function stateText({ command }: ServiceName, { running, pid, since }: ServiceState): string {
  if (!running) return `installed, stopped; \`${command} start\` starts it`;
  return `running${since === undefined ? "" : ` since ${moment(since)}`}${pid === undefined ? "" : ` (pid ${pid})`}`;
}

async function showLog(
  { kind, context, supervisor, log }: Service,
  options: Invocation["options"],
): Promise<void> {
  const maxLines = wholeNumber("--lines", options.lines, 1, 100_000) ?? 100;
  const isThere = await exists(log);
  if (!isThere && !(await exists(supervisor.file))) {
    const failure = notInstalled(kind);
    const other = kind.logsElsewhere === undefined ? "" : `; ${kind.logsElsewhere}`;
    throw new Failure(failure.kind, `there is no log ${log}: ${failure.message}${other}`);
  }
  const { lines, end } = await newestLines(log, maxLines);
  const none = isThere ? `${log} is empty` : `${log} does not exist yet`;
  const nothing = `${none}: the service has logged nothing; \`${kind.command} status\` shows whether it is running`;
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

function notInstalled({ title, command }: ServiceName): Failure {
  return new Failure(
    "not-installed",
    `${title} is not installed as a service; \`${command} install\` installs it`,
  );
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}

/** A line of the log: its time and its text. */
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
