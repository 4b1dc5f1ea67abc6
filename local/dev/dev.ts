import { createToken, listTokens, revokeToken } from "../../shared/peers/tokens.ts";
import { scopes } from "../../shared/protocol/methods.ts";
import { type LocalGateway, startLocalGateway } from "../in-process-gateway.ts";
import { startOfflineModel } from "../offline-model/offline-model-server.ts";
import { compatibleProvider } from "./dev-model.ts";
import {
  type GatewayFile,
  type ModelSettings,
  readGatewayFile,
  runningGateway,
  writeGatewayFile,
} from "./dev-state.ts";

/** A data folder whose gateway runs already. */
export class GatewayRunsError extends Error {
  readonly pid: number | undefined;

  constructor(pid: number | undefined) {
    super("a gateway runs in this folder");
    this.pid = pid;
  }
}

export interface DevOptions {
  /** Data folder; made when absent. */
  dir: string;
  /** Port of the WebSocket API; by default the one it had last, or a free one. */
  port?: number;
  /** Where the internet reaches the webhook, if not where it listens. Ends in a slash. */
  webhookUrl?: string;
  /** For one command: nobody else is told of it, and what an earlier start left unfinished stays for a real one. */
  passive?: boolean;
  /** Serves the table, the bucket and the schedules to other programs, which may use any access key. */
  published?: boolean;
  /** Waits for the disk at every write, so that what was acknowledged survives a loss of power too. */
  fsync?: boolean;
}

/** The local gateway while it runs in this process. */
export interface Dev {
  cloud: LocalGateway;
  url: string;
  /** Has every scope. The one of the start before, unless it was revoked. */
  token: string;
  /** True when the folder held no gateway before. */
  isNew: boolean;
  /** The model settings that local mode wrote last. */
  model?: ModelSettings;
  /** Whether the agent was given the files that it starts with. */
  hasAgent: boolean;
  /** Starts the built-in offline model unless it runs, and says how to reach it. */
  offlineModel(): Promise<ModelSettings>;
  /** Remembers what local mode wrote into the configuration. */
  recordModel(model: ModelSettings): Promise<void>;
  /** Remembers that the agent was given its files: what the user deletes of them stays deleted. */
  recordAgent(): Promise<void>;
  close(): Promise<void>;
}

const tokenName = "local";

/**
 * Starts the local gateway of a data folder, with a token for this machine.
 * @throws GatewayRunsError, PortInUseError, or the file system's error when the folder cannot be used
 */
export async function startDev(options: DevOptions): Promise<Dev> {
  const { dir, port, webhookUrl, passive = false, published = false, fsync = false } = options;
  const running = await runningGateway(dir);
  if (running !== undefined) throw new GatewayRunsError(running.pid);
  const before = await readGatewayFile(dir);
  // Before the cloud, at its old address: an interrupted turn is taken up as soon as the cloud runs.
  const offline = new OfflineModelServer(before?.model);
  await offline.resume();
  const started = startLocalGateway({ dir, port, webhookUrl, published, fsync });
  const cloud = await started.catch(async (error: unknown) => {
    await offline.close();
    throw error;
  });
  if (passive) cloud.schedules.stop();
  const token = await tokenFor(cloud, before?.token);
  // Without a pid nobody connects to a gateway that ends with its command.
  const file: GatewayFile = { ...before, url: cloud.ws, token, pid: passive ? undefined : process.pid };
  const save = () => writeGatewayFile(dir, file);
  await save();
  return {
    cloud,
    url: cloud.ws,
    token,
    isNew: before === undefined,
    model: before?.model,
    hasAgent: before?.hasAgent === true,
    offlineModel: () => offline.settings(),
    async recordModel(model) {
      file.model = model;
      await save();
    },
    async recordAgent() {
      file.hasAgent = true;
      await save();
    },
    async close() {
      delete file.pid;
      await save();
      await cloud.close();
      await offline.close();
    },
  };
}

/** The known token if it is still in the table, else a new one in place of those that were lost. */
async function tokenFor(cloud: LocalGateway, known: string | undefined): Promise<string> {
  const { table } = cloud.world;
  const own = (await listTokens(table)).filter(({ name }) => name === tokenName);
  if (known !== undefined && own.some(({ id }) => known.startsWith(`gsv_${id}_`))) return known;
  for (const { id } of own) await revokeToken(table, id);
  return (await createToken(table, { name: tokenName, scopes }, Date.now())).token;
}

/** The offline model, started when it is needed, on the port that it had before where that is free. */
class OfflineModelServer {
  readonly #before: ModelSettings | undefined;
  #server: ReturnType<typeof startOfflineModel> | undefined;

  constructor(before: ModelSettings | undefined) {
    this.#before = isOffline(before) ? before : undefined;
  }

  async resume(): Promise<void> {
    if (this.#before !== undefined) await this.settings();
  }

  async settings(): Promise<ModelSettings> {
    this.#server ??= this.#start();
    const { url, model } = await this.#server;
    return { provider: compatibleProvider, id: model, baseUrl: url };
  }

  async close(): Promise<void> {
    await (await this.#server)?.close();
  }

  #start(): ReturnType<typeof startOfflineModel> {
    const port = Number(this.#before?.baseUrl && new URL(this.#before.baseUrl).port);
    return startOfflineModel({ port: port || 0 }).catch(() => startOfflineModel());
  }
}

/** Whether these settings are those of the built-in offline model, of this start or an earlier one. */
export function isOffline(model: ModelSettings | undefined): boolean {
  return model?.provider === compatibleProvider && model.id === "offline";
}
