import { beginGuarded } from "../../shared/approvals/first-mode.ts";
import { type ConfigurationStore, openConfiguration } from "../../shared/configuration/store.ts";
import { releaseNodesOf } from "../../shared/peers/peer-ids.ts";
import { createAdminToken, createToken, listTokens, revokeToken } from "../../shared/peers/tokens.ts";
import type { Scope } from "../../shared/protocol/methods.ts";
import type { HttpHandler } from "../http/http-endpoint.ts";
import { type LocalGateway, startLocalGateway } from "../in-process-gateway.ts";
import { startOfflineModel } from "../offline-model/offline-model-server.ts";
import { upgradeRequired } from "../websocket/websocket-api.ts";
import { openAdminCodes } from "./admin-codes.ts";
import { compatibleProvider, isOffline } from "./dev-model.ts";
import {
  type GatewayFile,
  type ModelSettings,
  readGatewayFile,
  runningGateway,
  writeGatewayFile,
} from "./dev-state.ts";

/** The data folder's gateway is already running. */
export class GatewayRunsError extends Error {
  readonly pid: number | undefined;

  constructor(pid: number | undefined) {
    super("a gateway runs in this folder");
    this.pid = pid;
  }
}

export interface DevOptions {
  /** Data folder; created when missing. */
  dir: string;
  /** Port of the WebSocket API; 0 for a free one. Default: its previous port, or a free one. */
  port?: number;
  /** Public URL of the webhook, with a trailing slash. Default: the local address. */
  webhookUrl?: string;
  /** As in `LocalGatewayOptions`. */
  hosts?: readonly string[];
  /** Starts for one command: other commands do not find this gateway, and interrupted work is not resumed. */
  passive?: boolean;
  /** Syncs every write to the disk, so that acknowledged writes survive a power failure. */
  fsync?: boolean;
  /** Called with a sentence for the user when the table cannot be written. */
  onStoreError?: (message: string) => void;
  /** Shows a code that another command on this machine needs to administer the gateway. Default: none may. */
  onAdminCode?: (code: string) => void;
}

/** The local gateway while it runs in this process. */
export interface Dev {
  cloud: LocalGateway;
  url: string;
  /** Token of this machine's commands and nodes. That of the previous start is reused unless it was revoked. */
  token: string;
  /** The gateway's configuration. */
  configuration: ConfigurationStore;
  /** Creates a token with the scope admin, for the person who runs this process. */
  createAdmin(): ReturnType<typeof createAdminToken>;
  /** True when the folder held no gateway before. */
  isNew: boolean;
  /** The model settings that local mode wrote last. */
  model?: ModelSettings;
  /** Whether the agent's initial files were written. */
  hasAgent: boolean;
  /** Starts the built-in offline model unless it runs, and returns its settings. */
  offlineModel(): Promise<ModelSettings>;
  /** Stores the model settings that local mode wrote into the configuration. */
  recordModel(model: ModelSettings): Promise<void>;
  /**
   * Stores that the agent's initial files were written, so that files the user deletes are not written again.
   */
  recordAgent(): Promise<void>;
  close(): Promise<void>;
}

const tokenName = "local";
const tokenScopes: readonly Scope[] = ["client", "node", "approve"];

/**
 * Starts the local gateway of a data folder, with a token for this machine.
 * @throws GatewayRunsError, PortInUseError, or the file system's error when the folder cannot be used
 */
export async function startDev(options: DevOptions): Promise<Dev> {
  const { dir, passive = false, onAdminCode, ...others } = options;
  const running = await runningGateway(dir);
  if (running !== undefined) throw new GatewayRunsError(running.pid);
  const before = await readGatewayFile(dir);
  // Start the model before the cloud, on its old port: the cloud resumes interrupted turns immediately.
  const offline = new OfflineModelServer(before?.model);
  await offline.resume();
  let answerHttp = upgradeRequired;
  const answer: HttpHandler = (request) => answerHttp(request);
  const started = startLocalGateway({ dir, passive, answerHttp: answer, ...others });
  const cloud = await started.catch(async (error: unknown) => {
    await offline.close();
    throw error;
  });
  const { table, secrets } = cloud.world;
  if (onAdminCode) answerHttp = openAdminCodes(table, onAdminCode, upgradeRequired);
  if (before === undefined && (await listTokens(table, Date.now())).length === 0) await beginGuarded(table);
  const token = await tokenFor(cloud, before?.token);
  // Without a pid, other commands do not connect to a gateway that ends with its command.
  const file: GatewayFile = { ...before, url: cloud.ws, token, pid: passive ? undefined : process.pid };
  const save = () => writeGatewayFile(dir, file);
  await save();
  return {
    cloud,
    url: cloud.ws,
    token,
    configuration: openConfiguration(table, secrets),
    createAdmin: () => createAdminToken(table, Date.now()),
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

/**
 * The known token if it is still good and may not administer, as those of earlier versions may. Otherwise creates a new one,
 * which takes over the nodes of the older local tokens, and revokes those.
 */
async function tokenFor(cloud: LocalGateway, known: string | undefined): Promise<string> {
  const { table } = cloud.world;
  const own = (await listTokens(table, Date.now())).filter(({ name }) => name === tokenName);
  const knownId = known?.split("_")[1];
  if (known !== undefined && own.some(({ id, scopes }) => id === knownId && !scopes.includes("admin")))
    return known;
  for (const id of [...own.map((token) => token.id), ...(knownId === undefined ? [] : [knownId])]) {
    await revokeToken(table, id, Date.now());
    await releaseNodesOf(table, id);
  }
  return (await createToken(table, { name: tokenName, scopes: tokenScopes }, Date.now())).token;
}

/** The offline model's server. It starts on first use, on its previous port if that is free. */
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
