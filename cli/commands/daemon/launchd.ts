import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../../app/failure.ts";
import type { RunProgram } from "../program/run-program.ts";
import {
  type ServiceName,
  type ServiceProgram,
  type ServiceState,
  type Supervisor,
  succeed,
} from "./supervisor.ts";

/** Max attempts to load the agent. launchd unloads the previous one with a delay. */
const loadAttempts = 5;

/** launchd on macOS: a user agent, which runs while the user is logged in. */
export function openLaunchd(
  run: RunProgram,
  { id }: ServiceName,
  { home, uid }: { home: string; uid: number },
): Supervisor {
  const label = `gsv.${id}`;
  const file = join(home, "Library/LaunchAgents", `${label}.plist`);
  const domain = `gui/${uid}`;
  const target = `${domain}/${label}`;
  const isLoaded = async () => (await run("launchctl", ["print", target])).code === 0;
  const unload = () => run("launchctl", ["bootout", target]);
  const load = async () => {
    for (let attempt = 1; attempt < loadAttempts; attempt++) {
      if ((await run("launchctl", ["bootstrap", domain, file])).code === 0) return;
      await sleep(attempt * 200);
    }
    await succeed(run, "launchctl", ["bootstrap", domain, file]);
  };
  return {
    name: "launchd",
    file,
    async check() {
      const { code, stderr } = await run("launchctl", ["print", domain]);
      if (code !== 0)
        throw new Failure(
          "no-launchd",
          `launchd has no session of this user (${stderr.split("\n")[0]}); log in at this machine's screen, then run this command again`,
        );
    },
    describe: (program) => propertyList(label, join(program.logs, `${id}.out`), program),
    async activate() {
      await unload();
      await load();
    },
    async deactivate() {
      await unload();
    },
    async start() {
      if (!(await isLoaded())) await load();
    },
    async stop() {
      await unload();
    },
    async state() {
      const { code, stdout } = await run("launchctl", ["print", target]);
      return code === 0 ? stateOf(stdout) : { running: false, survivesLogout: false };
    },
    keepAfterLogout: async () =>
      "the service runs while you are logged in to this machine; macOS stops it at logout",
  };
}

/** The agent's property list. launchd restarts the agent whenever it ends, at most once in ten seconds. */
function propertyList(label: string, out: string, { command, path, folder }: ServiceProgram): string {
  const text = (value: string) => `<string>${escaped(value)}</string>`;
  const output = text(out);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  ${text(label)}
  <key>ProgramArguments</key>
  <array>
${command.map((word) => `    ${text(word)}`).join("\n")}
  </array>
  <key>WorkingDirectory</key>
  ${text(folder)}
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    ${text(path)}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>StandardOutPath</key>
  ${output}
  <key>StandardErrorPath</key>
  ${output}
</dict>
</plist>
`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function stateOf(printed: string): ServiceState {
  const field = (name: string) => new RegExp(`^\\s*${name} = (.*)$`, "m").exec(printed)?.[1]?.trim();
  const pid = Number(field("pid"));
  const exit = field("last exit code");
  return {
    running: field("state") === "running",
    ...(pid > 0 ? { pid } : {}),
    ...(exit !== undefined && /^[1-9]/.test(exit) ? { lastExit: `exit code ${exit}` } : {}),
    survivesLogout: false,
  };
}
