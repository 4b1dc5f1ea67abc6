import { type ChildProcess, fork } from "node:child_process";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import {
  contextFields,
  FunctionError,
  type FunctionLog,
  type FunctionSettings,
  timedOut,
} from "../../../../local/lambda/host.ts";

export interface FunctionInstanceOptions {
  name: string;
  /** Path of the module that exports the handler. */
  entry: string;
  env: Record<string, string>;
  execArgv?: string[];
  log: FunctionLog;
}

interface ReportedError {
  errorType: string;
  errorMessage: string;
  trace?: string[];
}

interface RuntimeMessage {
  id?: number;
  value?: unknown;
  error?: ReportedError;
  failed?: ReportedError;
}

/** What keeps this process running. */
interface Handle {
  ref(): unknown;
  unref(): unknown;
}

const runtime = fileURLToPath(new URL("./process-runtime.mjs", import.meta.url));

/** A child process that runs a function's events one after the other. It exits when this process exits. */
export class FunctionInstance {
  /** Resolves when the process has ended, for any reason. */
  readonly ended: Promise<void>;
  private readonly child: ChildProcess;
  /** The function and the log, of the host that uses the process. */
  private options: FunctionInstanceOptions;
  private nextId = 0;
  private finish: ((message: RuntimeMessage) => void) | undefined;
  /** Why the process ends or has ended. */
  private failure: ReportedError | undefined;
  private hasEnded = false;
  /** Whether it is to forget what it keeps once its event has ended. */
  private isStale = false;

  constructor(options: FunctionInstanceOptions) {
    const { entry, env, execArgv = [] } = options;
    this.options = options;
    this.child = fork(runtime, [entry], { env, execArgv, stdio: ["ignore", "pipe", "pipe", "ipc"] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream) createInterface(stream).on("line", (line) => this.options.log(this.options.name, line));
    }
    this.child.on("message", (message: RuntimeMessage) => {
      if (message.failed) this.failure = message.failed;
      else if (message.id !== undefined) this.finish?.(message);
    });
    this.ended = new Promise((resolve) => {
      const end = (reason: string) => {
        this.hasEnded = true;
        this.failure ??= { errorType: "Runtime.ExitError", errorMessage: reason };
        this.finish?.({ error: this.failure });
        resolve();
      };
      this.child.once("exit", (code, signal) =>
        end(`Runtime exited with error: ${signal ? `signal: ${signal}` : `exit status ${code}`}`),
      );
      this.child.once("error", (error) => end(error.message));
    });
  }

  /**
   * Runs one event. Kills the process at the function's timeout. Must not be called while another event runs.
   * @param trace the trace header of the event's calls of AWS; empty for none
   * @throws FunctionError
   */
  async run(event: unknown, settings: FunctionSettings, trace = ""): Promise<unknown> {
    const context = contextFields(this.options.name, settings);
    const id = this.nextId++;
    const outcome = new Promise<RuntimeMessage>((resolve) => {
      this.finish = resolve;
      if (this.hasEnded) resolve({ error: this.failure });
    });
    const timer = setTimeout(() => {
      const { errorType, message } = timedOut(context, settings);
      this.failure = { errorType, errorMessage: message };
      this.kill();
    }, settings.timeoutMs);
    this.child.send({ id, event, context, trace }, () => undefined);
    const { value, error } = await outcome;
    clearTimeout(timer);
    this.finish = undefined;
    if (this.isStale) this.forget();
    if (error) throw new FunctionError(error.errorType, error.errorMessage, error.trace);
    return value;
  }

  /** The process's id; undefined if it did not start. */
  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Kills the process. */
  kill(): void {
    this.child.kill("SIGKILL");
  }

  /** Whether the process was started with the code of another instance. */
  runs({ entry, execArgv = [] }: FunctionInstanceOptions): boolean {
    const own = this.options;
    return !this.hasEnded && own.entry === entry && `${own.execArgv ?? []}` === `${execArgv}`;
  }

  /** Lets this process end, while the instance is not used, and drops what the instance still writes. */
  retire(): void {
    this.options = { ...this.options, log: () => undefined };
    for (const handle of this.handles()) handle.unref();
  }

  /**
   * Makes the process a new instance, of this or of another host, with its environment: nothing that a handler keeps
   * is left. Must not be called while an event runs.
   */
  renew(options: FunctionInstanceOptions): void {
    this.options = options;
    for (const handle of this.handles()) handle.ref();
    this.child.send({ env: options.env }, () => undefined);
  }

  /** Makes the process a new instance with the same environment, behind the event that it runs. */
  forget(): void {
    this.isStale = this.finish !== undefined;
    if (!this.isStale) this.renew(this.options);
  }

  private handles(): Handle[] {
    const { channel, stdout, stderr } = this.child;
    const pipes = [stdout, stderr] as (Socket | null)[];
    return [this.child, channel, ...pipes].filter((handle) => handle != null);
  }

  /** Lets the process exit by itself, and kills it when it does not. */
  stop(): void {
    if (this.child.connected) this.child.disconnect();
    const timer = setTimeout(() => this.kill(), 1000);
    void this.ended.then(() => clearTimeout(timer));
  }
}
