import { Failure } from "../../app/failure.ts";
import type { RunProgram } from "../program/run-program.ts";

/** What the supervisor calls a service, and how a user starts the program without one. */
export interface ServiceName {
  /** `node`: the unit is `gsv-node.service` for systemd, `gsv.node` for launchd. */
  id: string;
  /** What it is in sentences: "the node". */
  title: string;
  /** What it does, for the supervisor's lists. */
  summary: string;
  /** The command that runs it in the foreground: "gsv node". */
  command: string;
}

/** The program that the supervisor runs. All paths are absolute. */
export interface ServiceProgram {
  /** The program and its arguments. Must not contain a secret: every user of the machine can read them. */
  command: readonly string[];
  /** The PATH with which the program finds others. */
  path: string;
  /** Working directory of the program. */
  folder: string;
  /** Folder of the log. */
  logs: string;
}

/** The state of the service, as the supervisor reports it. */
export interface ServiceState {
  running: boolean;
  pid?: number;
  /** Time of the last start, epoch ms. */
  since?: number;
  /** How it last ended, in the supervisor's words. */
  lastExit?: string;
  /** Whether it keeps running after the user logs out. */
  survivesLogout: boolean;
}

/** The program of the operating system that keeps a user's service running: systemd or launchd. */
export interface Supervisor {
  readonly name: "systemd" | "launchd";
  /** The file that describes the service to the supervisor. */
  readonly file: string;
  /** Checks that the supervisor can be used. @throws Failure with the reason, and what to do instead */
  check(): Promise<void>;
  /** The content of `file`. */
  describe(program: ServiceProgram): string;
  /** Starts the service that `file` describes, now and at each boot. Restarts a running service. */
  activate(): Promise<void>;
  /** Stops the service and forgets it, before `file` is removed. */
  deactivate(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  state(): Promise<ServiceState>;
  /** Makes the service survive a logout. @returns what the user must do for that, if anything */
  keepAfterLogout(): Promise<string | undefined>;
}

/** Runs a program that must succeed. @throws Failure with its error output */
export async function succeed(run: RunProgram, program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(program, args);
  if (code === 0) return stdout;
  const reason = stderr.replace(/\s*\n\s*/g, "; ") || `exit code ${code}`;
  throw new Failure("service", `${[program, ...args].join(" ")} failed: ${reason}`);
}

/** The remedy where no supervisor can be used. */
export function withoutSupervisor({ command }: ServiceName): string {
  return `run \`${command} --unattended <log file>\` by other means: a container's command with a restart policy, cron's @reboot, or \`nohup … &\``;
}
