// Loaded only when an mcp.json names a server.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { DEFAULT_INHERITED_ENV_VARS } from "@modelcontextprotocol/client/stdio";
import { ProcessGroup } from "../shell/process-group.ts";
import type { ServerEntry } from "./mcp-file.ts";

/** Time for a server to end after its input was closed, in ms. Then its process group is signalled. */
const closeMs = 500;

/** Max characters of a line of standard error. */
const maxLine = 500;

/**
 * A server's process as a transport of the SDK. The SDK's own transport does not give the process a group, so the processes that a
 * server starts would outlive it.
 */
export class ServerProcess implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  /** How it ended: `exit 1`, `SIGKILL`. */
  ending: string | undefined;
  readonly #entry: ServerEntry;
  readonly #options: { workspace: string; environment: NodeJS.ProcessEnv; onLine(line: string): void };
  readonly #buffer = new ReadBuffer();
  #child: ChildProcessWithoutNullStreams | undefined;
  #group: ProcessGroup | undefined;

  constructor(
    entry: ServerEntry,
    options: { workspace: string; environment: NodeJS.ProcessEnv; onLine(line: string): void },
  ) {
    this.#entry = entry;
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    const { command, args, cwd, env } = this.#entry;
    const { workspace, environment, onLine } = this.#options;
    const usual = DEFAULT_INHERITED_ENV_VARS.flatMap((name) =>
      environment[name] === undefined ? [] : [[name, environment[name]]],
    );
    const child = spawn(command, args, {
      cwd: cwd ?? workspace,
      env: { ...Object.fromEntries(usual), ...env },
      detached: true,
      stdio: "pipe",
    });
    this.#child = child;
    this.#group = new ProcessGroup(child);
    child.on("error", (error) => this.onerror?.(error));
    child.stdin.on("error", (error) => this.onerror?.(error));
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    createInterface({ input: child.stderr }).on("line", (line) => onLine(line.slice(0, maxLine)));
    child.once("exit", (exitCode, signal) => {
      this.ending = signal ?? `exit ${exitCode}`;
      // What it started must not outlive it, and may hold its pipes open.
      void this.#group?.end();
      this.onclose?.();
    });
    await once(child, "spawn");
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#child?.stdin.writable) throw new Error("the server has ended");
    if (!this.#child.stdin.write(serializeMessage(message)))
      await Promise.race([once(this.#child.stdin, "drain"), once(this.#child, "exit")]);
  }

  /** Closes the server's input, and ends it with all that it started. */
  async close(): Promise<void> {
    const child = this.#child;
    if (!child?.pid) return;
    const ended = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, "exit");
    child.stdin.end();
    const timer = setTimeout(() => void this.#group?.end(), closeMs);
    await ended;
    clearTimeout(timer);
    await this.#group?.end();
  }

  /** Kills the server with all that it started, synchronously. */
  killNow(): void {
    this.#group?.signal("SIGKILL");
  }

  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      // More bytes than a message may have.
      this.onerror?.(error as Error);
      this.killNow();
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        // A line that is no message, such as a greeting.
        this.onerror?.(error as Error);
      }
    }
  }
}
