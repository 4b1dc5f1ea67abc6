import { existsSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../../app/failure.ts";
import type { RunProgram } from "../../program/run-program.ts";
import {
  type ServiceProgram,
  type ServiceState,
  type Supervisor,
  succeed,
  withoutSupervisor,
} from "./supervisor.ts";

const unit = "gsv-node.service";

/** The error of a machine without systemd. docs/troubleshooting.md shows it. */
export const noSystemd = `systemd does not run on this machine, so it cannot keep the node running; ${withoutSupervisor}`;

/** systemd of the user on Linux. @param user the user's name, for `loginctl` */
export function openSystemd(
  run: RunProgram,
  { configHome, user }: { configHome: string; user: string },
): Supervisor {
  const systemctl = (...args: string[]) => succeed(run, "systemctl", ["--user", ...args]);
  const lingers = async () => {
    const { stdout } = await run("loginctl", ["show-user", user, "--property=Linger"]);
    return stdout.trim() === "Linger=yes";
  };
  return {
    name: "systemd",
    file: join(configHome, "systemd/user", unit),
    check: () => checkSystemd(run),
    describe: unitFile,
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
      const asked = "--property=ActiveState,MainPID,ActiveEnterTimestamp,Result,ExecMainStatus";
      const shown = await systemctl("show", unit, asked);
      return { ...stateOf(shown), survivesLogout: await lingers() };
    },
    async keepAfterLogout() {
      if (await lingers()) return undefined;
      const { code } = await run("loginctl", ["enable-linger", user]);
      if (code === 0) return undefined;
      return `the service ends when you log out; to let it go on: sudo loginctl enable-linger ${user}`;
    },
  };
}

async function checkSystemd(run: RunProgram): Promise<void> {
  const { code, stderr } = await run("systemctl", ["--user", "show-environment"]);
  if (code === 0) return;
  // What sd_booted(3) looks at: in most containers there are its programs, but systemd does not run.
  if (code === undefined || !existsSync("/run/systemd/system")) throw new Failure("no-systemd", noSystemd);
  throw new Failure(
    "no-systemd",
    `systemd does not answer for this user (${stderr.split("\n")[0]}): log in as this user itself, not by su or sudo; else ${withoutSupervisor}`,
  );
}

/**
 * The unit file. It is restarted whatever ends it, and never given up. SIGTERM goes to the node alone, which ends its
 * commands itself; what is left after ten seconds is killed. The environment must not name another gateway.
 */
function unitFile({ command, path, folder }: ServiceProgram): string {
  return `[Unit]
Description=gsv node: lends this machine to its agent
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

/** One word of a unit file: in double quotes, with backslashes, quotes and percent signs as they are meant. */
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
