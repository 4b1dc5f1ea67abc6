import { Failure } from "../../../app/failure.ts";
import type { RunProgram } from "../../program/run-program.ts";

/** What the operating system's supervisor is to run. All paths are absolute. */
export interface ServiceProgram {
  /** The program and its arguments. Every user of the machine can read them: no secret stands here. */
  command: readonly string[];
  /** The environment's PATH, by which the node finds programs. */
  path: string;
  /** Folder in which the program starts. */
  folder: string;
  /** Folder of the log. */
  logs: string;
}

/** What the supervisor knows of the service. */
export interface ServiceState {
  running: boolean;
  pid?: number;
  /** When it was started last, epoch ms. */
  since?: number;
  /** How it ended last, in the supervisor's words. */
  lastExit?: string;
  /** Whether it goes on when the user logs out. */
  survivesLogout: boolean;
}

/** The program of the operating system that keeps a user's service running: systemd or launchd. */
export interface Supervisor {
  readonly name: "systemd" | "launchd";
  /** The file that describes the service to the supervisor. */
  readonly file: string;
  /** @throws Failure that says why the supervisor cannot be used here, and what to do instead */
  check(): Promise<void>;
  /** The content of `file`. */
  describe(program: ServiceProgram): string;
  /** Starts the service by the written `file`, now and at each boot; a running one is started anew. */
  activate(): Promise<void>;
  /** Ends the service and forgets it, before `file` is removed. */
  deactivate(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  state(): Promise<ServiceState>;
  /** Lets the service survive a logout. @returns what the user has to do for that; undefined when nothing */
  keepAfterLogout(): Promise<string | undefined>;
}

/** Runs a program that has to succeed. @throws Failure with what it said */
export async function succeed(run: RunProgram, program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(program, args);
  if (code === 0) return stdout;
  const said = stderr.replace(/\s*\n\s*/g, "; ") || `exit code ${code}`;
  throw new Failure("service", `${[program, ...args].join(" ")} failed: ${said}`);
}

/** What to do where no supervisor can be used. */
export const withoutSupervisor =
  "let what starts your programs here run `gsv node --unattended <log file>`: a container's command with a restart policy, cron's @reboot, or `nohup … &`";
