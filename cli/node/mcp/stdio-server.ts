// Loaded only when an mcp.json names a server.
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/client";
import * as v from "valibot";
import { outcomeOf } from "../../../shared/mcp/result-content.ts";
import { raceWithTimeout } from "../race-with-timeout.ts";
import type { ToolResult } from "../tools/node-tool.ts";
import type { ServerEntry } from "./mcp-file.ts";
import { ServerProcess } from "./server-process.ts";
import type { ServerState, ServerStatus } from "./servers-status.ts";

/** Time for a server to start, which may download it first; for the answer to a probe of its protocol; for a call. In ms. */
const startMs = 120_000;
const probeMs = 5000;
const callMs = 10 * 60_000;

/** Waits before a restart, in ms: they double up to the max. A server that has run this long starts again at once. */
const restartMs = { min: 500, max: 60_000 };
const stableMs = 60_000;

/** Time that a call waits for a server that is starting, in ms. */
const waitMs = 20_000;

/** Variables whose values are redacted: by their names, or values that look random. Paths and addresses remain readable. */
const secretName = /key|token|secret|pass|auth|cred|cookie|session/i;
const secretValue = /^(?!\/)[\w.~+/=-]{20,}$/;
const minSecret = 6;

/** A page of `tools/list`. The SDK's own schema refuses a whole list for one tool whose input schema has no type. */
const pageSchema = v.object({
  tools: v.array(
    v.object({
      name: v.string(),
      title: v.optional(v.string()),
      description: v.optional(v.string()),
      inputSchema: v.optional(v.unknown()),
    }),
  ),
  nextCursor: v.optional(v.string()),
});
const maxPages = 20;

/** A tool as its server lists it. */
export type ServerTool = v.InferOutput<typeof pageSchema>["tools"][number];

interface StdioServerOptions {
  workspace: string;
  environment: NodeJS.ProcessEnv;
  version: string;
  /** Lines contain no secret of the server's entry. */
  log(line: string): void;
  /** The tools or the state have changed. */
  onChange(): void;
}

/** One server of an `mcp.json`, which is started again whenever it ends, until `stop`. */
export class StdioServer {
  readonly entry: ServerEntry;
  /** As the server listed them last. */
  tools: readonly ServerTool[] = [];
  readonly #options: StdioServerOptions;
  readonly #stopping = new AbortController();
  #state: ServerState = "starting";
  #client: Client | undefined;
  #process: ServerProcess | undefined;
  #restarts = 0;
  #error: string | undefined;
  /** Once a server has ended at the probe of the newer protocol, it gets the older one. */
  #isLegacy = false;
  #attempt = newAttempt();
  readonly #loop: Promise<void>;

  constructor(entry: ServerEntry, options: StdioServerOptions) {
    this.entry = entry;
    this.#options = options;
    this.#loop = this.#keepRunning();
  }

  get status(): ServerStatus {
    const pid = this.#process?.pid;
    return {
      ...{ name: this.entry.name, state: this.#state, tools: this.tools.length, restarts: this.#restarts },
      ...(this.#state === "running" && pid !== undefined ? { pid } : {}),
      ...(this.#error === undefined ? {} : { error: this.#error }),
    };
  }

  /** Resolves when it runs for the first time, or has failed to. */
  get ready(): Promise<void> {
    return this.#attempt.ended;
  }

  /**
   * Calls a tool. A server that is starting gets some time first.
   * @throws Error with the tool's or the server's reason, without secrets
   */
  async call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolResult> {
    const { name } = this.entry;
    if (this.#state !== "running") await raceWithTimeout(this.#attempt.ended, waitMs);
    const client = this.#client;
    if (this.#state !== "running" || !client)
      throw new Error(`the MCP server ${name} is not running${this.#error ? `: ${this.#error}` : ""}`);
    const called = client.callTool({ name: tool, arguments: args }, { signal, timeout: callMs });
    const outcome = await called.then(outcomeOf, (error: Error) => ({
      error: this.#client === client ? error.message : `the MCP server ${name} ended during the call`,
    }));
    if ("error" in outcome) throw new Error(this.#redact(outcome.error));
    const content = outcome.result.content.map((block) =>
      block.type === "text" ? { ...block, text: this.#redact(block.text) } : block,
    );
    return { content };
  }

  /** Ends the server and all that it started. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#process?.close();
    await this.#loop;
  }

  /** Kills the server and all that it started, synchronously. */
  killNow(): void {
    this.#stopping.abort();
    this.#process?.killNow();
  }

  async #keepRunning(): Promise<void> {
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      const startedAt = Date.now();
      this.#error = await this.#runOnce().catch((error: Error) => {
        this.#attempt.end();
        this.#attempt = newAttempt();
        return this.#redact(error.message);
      });
      await this.#process?.close();
      if (signal.aborted) break;
      failures = Date.now() - startedAt > stableMs ? 1 : failures + 1;
      const waiting = Math.min(restartMs.max, restartMs.min * 2 ** (failures - 1));
      this.#log(`${this.#error}; starting again in ${waiting} ms`);
      this.#enter("waiting");
      await delay(waiting, undefined, { signal }).catch(() => {});
      this.#restarts++;
    }
    this.#enter("stopped");
  }

  /** Starts the server and waits for its end. @returns why it ended */
  async #runOnce(): Promise<string> {
    this.#enter("starting");
    const { workspace, environment } = this.#options;
    const server = new ServerProcess(this.entry, {
      ...{ workspace, environment },
      onLine: (line) => this.#log(line),
    });
    this.#process = server;
    const client = this.#newClient();
    const ended = new Promise<string>((resolve) => {
      client.onclose = () => {
        const reason = `it ended (${server.ending ?? "closed"})`;
        if (this.#client === client) {
          // Calls from now on wait for the next attempt.
          [this.#client, this.#attempt, this.#error] = [undefined, newAttempt(), reason];
          this.#enter("waiting");
        }
        resolve(reason);
      };
    });
    try {
      await client.connect(server, { timeout: startMs, signal: this.#stopping.signal });
      this.tools = await listTools(client);
    } catch (error) {
      this.#isLegacy ||= server.ending !== undefined;
      throw new Error(startFault(this.entry, error as NodeJS.ErrnoException, server.ending));
    }
    this.#client = client;
    this.#error = undefined;
    this.#enter("running");
    this.#log(`runs, with ${this.tools.length} tools`);
    this.#attempt.end();
    return ended;
  }

  #newClient(): Client {
    const clientInfo = { name: "gsv", version: this.#options.version };
    const client = new Client(clientInfo, {
      versionNegotiation: this.#isLegacy
        ? { mode: "legacy" }
        : { mode: "auto", probe: { timeoutMs: probeMs } },
      inputRequired: { autoFulfill: false },
      // The server checks its own results.
      jsonSchemaValidator: {
        getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
      },
      listChanged: {
        tools: {
          autoRefresh: false,
          onChanged: () => void this.#listAgain(client),
        },
      },
    });
    return client;
  }

  async #listAgain(client: Client): Promise<void> {
    try {
      this.tools = await listTools(client);
      this.#log(`has ${this.tools.length} tools now`);
      this.#options.onChange();
    } catch (error) {
      this.#log(`its changed tools cannot be listed: ${shortReason(error as Error)}`);
    }
  }

  #enter(state: ServerState): void {
    this.#state = state;
    this.#options.onChange();
  }

  #log(line: string): void {
    this.#options.log(`mcp ${this.entry.name}: ${this.#redact(line)}`);
  }

  /** A text without the values of the server's variables. */
  #redact(text: string): string {
    const isSecret = ([name, value]: [string, string]) =>
      value.length >= minSecret && (secretName.test(name) || secretValue.test(value));
    const secrets = Object.entries(this.entry.env).filter(isSecret);
    return secrets.reduce((rest, [, value]) => rest.replaceAll(value, "***"), text);
  }
}

function startFault(
  { command }: ServerEntry,
  error: NodeJS.ErrnoException,
  ending: string | undefined,
): string {
  if (error.code === "ENOENT")
    return `${command}, or the folder cwd, was not found; give the whole path, or set PATH in env`;
  return ending === undefined
    ? `it did not start: ${shortReason(error)}`
    : `it ended at its start (${ending})`;
}

/** An attempt to start a server: `ended` resolves when it runs, or has failed to. */
function newAttempt(): { ended: Promise<void>; end: () => void } {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { ended, end };
}

async function listTools(client: Client): Promise<ServerTool[]> {
  const tools: ServerTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const params = cursor === undefined ? {} : { params: { cursor } };
    const found = await client.request({ method: "tools/list", ...params }, pageSchema, { timeout: startMs });
    tools.push(...found.tools);
    cursor = found.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}

/** An error's message in one line of at most 300 characters. */
function shortReason({ message }: Error): string {
  return message.replaceAll(/\s+/g, " ").slice(0, 300);
}
