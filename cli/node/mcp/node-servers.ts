import { mkdir, rename, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { offerSchema, unwrapArguments } from "../../../shared/mcp/tool-arguments.ts";
import { mcpToolName } from "../../../shared/mcp/tool-name.ts";
import { raceWithTimeout } from "../race-with-timeout.ts";
import type { NodeTool } from "../tools/node-tool.ts";
import { jsonBytes } from "../truncate.ts";
import { readMcpFile } from "./mcp-file.ts";
import type { ServersStatus } from "./servers-status.ts";
import type { ServerTool, StdioServer } from "./stdio-server.ts";

/** Interval of the checks whether the file has changed, in ms. */
const watchMs = 1000;

/** Changes of tools within this time are announced together, in ms. */
const togetherMs = 300;

/** Time that the first announcement waits for the servers, in ms. Later ones are announced when they run. */
const firstMs = 5000;

/** Max length of a tool's name, to which the node's id is added, and of a description, in characters. */
const maxName = 40;
const maxDescription = 4000;

/** Limits of all servers' tools: a node announces at most 128 tools, in one frame. */
const limits = { tools: 110, bytes: 90_000 };

interface NodeServersOptions {
  /** The `mcp.json`; it may be absent, or appear later. */
  file: string;
  /** File for the servers' states, which `gsv node status` reads. */
  statusFile?: string;
  workspace: string;
  environment: NodeJS.ProcessEnv;
  version: string;
  log(line: string): void;
}

/** The MCP servers of a node. The file is read again when it changes: only servers whose entry differs are started again. */
export class NodeServers {
  readonly #options: NodeServersOptions;
  readonly #servers = new Map<string, StdioServer>();
  #disabled: string[] = [];
  #faults: string[] = [];
  #omitted: string[] = [];
  #tools: NodeTool[] = [];
  #isStopped = false;
  #announce: () => void = () => {};
  /** The definitions that the gateway has; undefined before it has any. */
  #announced: readonly unknown[] | undefined;
  /** Distinguishes versions of the file. */
  #stamp = "";
  readonly #watch: NodeJS.Timeout;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void>;
  readonly #first: Promise<void>;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(options: NodeServersOptions) {
    this.#options = options;
    this.#work = this.#load();
    const all = this.#work.then(() => Promise.all([...this.#servers.values()].map(({ ready }) => ready)));
    this.#first = raceWithTimeout(all, firstMs);
    this.#watch = setInterval(() => void this.#reload(), watchMs);
    this.#watch.unref();
  }

  /** The tools of all servers, named `{server}__{tool}`. */
  get tools(): readonly NodeTool[] {
    return this.#tools;
  }

  /** Calls `announce` when the tools differ from those that `announcement` returned last. */
  onTools(announce: () => void): void {
    this.#announce = announce;
  }

  /** The tools for the gateway, once the first servers run, have failed, or take longer than 5 seconds. */
  async announcement(): Promise<readonly NodeTool[]> {
    await this.#first;
    this.#announced = definitionsOf(this.#tools);
    return this.#tools;
  }

  /** Ends all servers with the processes that they started. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#watch);
    clearTimeout(this.#timer);
    await this.#work;
    await Promise.all([...this.#servers.values()].map((server) => server.stop()));
    await this.#writing;
  }

  /** Like `stop`, but synchronous, for a process that is about to exit. */
  killNow(): void {
    this.#isStopped = true;
    for (const server of this.#servers.values()) server.killNow();
  }

  async #reload(): Promise<void> {
    if ((await stampOf(this.#options.file)) !== this.#stamp) this.#work = this.#work.then(() => this.#load());
  }

  /** Reads the file, and starts and ends servers. Never rejects: a file that cannot be read changes nothing. */
  async #load(): Promise<void> {
    const { file, environment, log } = this.#options;
    if (this.#isStopped) return;
    this.#stamp = await stampOf(file);
    try {
      const { servers, disabled, faults } = (await readMcpFile(file, environment)) ?? {
        ...{ servers: [], disabled: [], faults: [] },
      };
      [this.#disabled, this.#faults] = [disabled, faults];
      for (const fault of faults) log(`mcp ${fault}`);
      for (const [name, server] of this.#servers) {
        const isSame = servers.some((entry) => isDeepStrictEqual(entry, server.entry));
        if (isSame) continue;
        this.#servers.delete(name);
        await server.stop();
      }
      // The SDK takes a tenth of a second to load.
      const { StdioServer: Server } = servers.length > 0 ? await import("./stdio-server.ts") : {};
      for (const entry of servers)
        if (Server && !this.#servers.has(entry.name))
          this.#servers.set(
            entry.name,
            new Server(entry, { ...this.#options, onChange: () => this.#changed() }),
          );
    } catch (error) {
      this.#faults = [(error as Error).message];
      log(`mcp ${(error as Error).message}`);
    }
    this.#changed();
  }

  #changed(): void {
    // The first state of a server is reported before it is in the list.
    queueMicrotask(() => {
      this.#tools = this.#collect();
      this.#writeStatus();
      this.#announceSoon();
    });
  }

  #announceSoon(): void {
    clearTimeout(this.#timer);
    const announce = () => {
      const isKnown = isDeepStrictEqual(this.#announced, definitionsOf(this.#tools));
      if (this.#announced !== undefined && !isKnown) this.#announce();
    };
    this.#timer = setTimeout(announce, togetherMs);
    this.#timer.unref();
  }

  #collect(): NodeTool[] {
    const tools: NodeTool[] = [];
    this.#omitted = [];
    let bytes = 0;
    for (const server of this.#servers.values())
      for (const tool of server.tools) {
        const made = toNodeTool(server, tool);
        const size = jsonBytes(made.definition);
        const isTwice = tools.some(({ definition }) => definition.name === made.definition.name);
        if (isTwice || tools.length === limits.tools || bytes + size > limits.bytes)
          this.#omitted.push(
            `${made.definition.name}: not announced; all servers together may have ${limits.tools} tools and ${limits.bytes} bytes`,
          );
        else {
          tools.push(made);
          bytes += size;
        }
      }
    return tools;
  }

  #writeStatus(): void {
    const { statusFile, file } = this.#options;
    if (statusFile === undefined) return;
    const servers: ServersStatus["servers"] = [
      ...[...this.#servers.values()].map(({ status }) => status),
      ...this.#disabled.map((name) => ({ name, state: "disabled" as const })),
    ];
    const status: ServersStatus = {
      pid: process.pid,
      file,
      servers,
      faults: [...this.#faults, ...this.#omitted],
    };
    const write = async () => {
      await mkdir(dirname(statusFile), { recursive: true, mode: 0o700 });
      await writeFile(`${statusFile}.new`, JSON.stringify(status), { mode: 0o600 });
      await rename(`${statusFile}.new`, statusFile);
    };
    // A status that cannot be written is not worth an end of the node.
    this.#writing = this.#writing.then(write).catch(() => {});
  }
}

/** A server's tool as a tool of this node. Nobody has classified it, so it counts as a command. */
function toNodeTool(server: StdioServer, tool: ServerTool): NodeTool {
  const { schema, isWrapped } = offerSchema(tool.inputSchema);
  return {
    definition: {
      name: mcpToolName(server.entry.name, tool.name, maxName),
      description: (tool.description ?? tool.title ?? "").slice(0, maxDescription).toWellFormed(),
      inputSchema: schema,
    },
    capabilities: ["shell.exec"],
    run: async (args, { signal }) =>
      server.call(tool.name, unwrapArguments(isWrapped, (args ?? {}) as Record<string, unknown>), signal),
  };
}

function definitionsOf(tools: readonly NodeTool[]): readonly unknown[] {
  return tools.map(({ definition }) => definition);
}

/** Changes whenever the file does; "" while there is none. */
async function stampOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined);
  return found ? `${found.ino} ${found.size} ${found.mtimeMs}` : "";
}
