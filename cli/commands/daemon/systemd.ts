import { existsSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../app/failure.ts";
import type { RunProgram } from "../program/run-program.ts";
import {
  type ServiceName,
  type ServiceProgram,
  type ServiceState,
  type Supervisor,
  succeed,
  withoutSupervisor,
} from "./supervisor.ts";

/** The error of a machine without systemd. docs/troubleshooting.md shows it. */
export function noSystemd(service: ServiceName): string {
  return `systemd does not run on this machine, so it cannot keep ${service.title} running; ${withoutSupervisor(service)}`;
}

/** systemd of a user on Linux. @param user the user's name, for `loginctl` */
export function openSystemd(
  run: RunProgram,
  service: ServiceName,
  { configHome, user }: { configHome: string; user: string },
): Supervisor {
  const unit = `gsv-${service.id}.service`;
  const systemctl = (...args: string[]) => succeed(run, "systemctl", ["--user", ...args]);
  const lingers = async () => {
    const { stdout } = await run("loginctl", ["show-user", user, "--property=Linger"]);
    return stdout.trim() === "Linger=yes";
  };
  return {
    name: "systemd",
    file: join(configHome, "systemd/user", unit),
    check: () => checkSystemd(run, service),
    describe: (program) => unitFile(service, program),
    async activate() {
      await systemctl("daemon-reload");
      await systemctl("enable", unit);
      await systemctl("restart", unit);
    },
    async deactivate() {
      await systemctl("disable", "--now", unit);
    },
    async start() {
      await systemctl("start", unit);
    },
    async stop() {
      await systemctl("stop", unit);
    },
    async state() {
      const properties = "--property=ActiveState,MainPID,ActiveEnterTimestamp,Result,ExecMainStatus";
      const shown = await systemctl("show", unit, properties);
      return { ...stateOf(shown), survivesLogout: await lingers() };
    },
    async keepAfterLogout() {
      if (await lingers()) return undefined;
      const { code } = await run("loginctl", ["enable-linger", user]);
      if (code === 0) return undefined;
      return `the service stops when you log out; to keep it running: sudo loginctl enable-linger ${user}`;
    },
  };
}

async function checkSystemd(run: RunProgram, service: ServiceName): Promise<void> {
  const { code, stderr } = await run("systemctl", ["--user", "show-environment"]);
  if (code === 0) return;
  // Check the folder as sd_booted(3) does: most containers have systemd's programs, but do not run it.
  if (code === undefined || !existsSync("/run/systemd/system"))
    throw new Failure("no-systemd", noSystemd(service));
  throw new Failure(
    "no-systemd",
    `systemd does not answer for this user (${stderr.split("\n")[0]}); log in as this user directly, not with su or sudo, or ${withoutSupervisor(service)}`,
  );
}

/**
 * The unit file. systemd restarts the program whenever it ends, without limit. SIGTERM goes only to the program, which stops
 * its commands; remaining processes are killed after ten seconds. The environment must not name another gateway.
 */
function unitFile({ summary }: ServiceName, { command, path, folder }: ServiceProgram): string {
  return `[Unit]
Description=${summary}
StartLimitIntervalSec=0

[Service]
Type=simple
ExecStart=${command.map((word) => quoted(word.replaceAll("$", "$$$$"))).join(" ")}
WorkingDirectory=${folder.replaceAll("%", "%%")}
Environment=${quoted(`PATH=${path}`)}
UnsetEnvironment=GSV_URL GSV_TOKEN
Restart=always
RestartSec=5
KillMode=mixed
TimeoutStopSec=10

[Install]
WantedBy=default.target
`;
}

/** Quotes a word for a unit file. Escapes backslashes, quotes and percent signs. */
function quoted(word: string): string {
  return `"${word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%")}"`;
}

function stateOf(shown: string): Omit<ServiceState, "survivesLogout"> {
  const lines = shown.split("\n").map((line) => line.split(/=(.*)/s, 2) as [string, string | undefined]);
  const { ActiveState, MainPID, ActiveEnterTimestamp, Result, ExecMainStatus } = Object.fromEntries(lines);
  const running = ActiveState === "active";
  const since = Date.parse(ActiveEnterTimestamp ?? "");
  const failed = Result !== undefined && Result !== "success";
  return {
    running,
    ...(running && Number(MainPID) > 0 ? { pid: Number(MainPID) } : {}),
    ...(running && !Number.isNaN(since) ? { since } : {}),
    ...(failed ? { lastExit: `${Result} (status ${ExecMainStatus})` } : {}),
  };
}
