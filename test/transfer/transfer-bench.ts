import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RequestError } from "../../cli/gateway/request-error.ts";
import {
  FileTransfers,
  type FileTransfersOptions,
  type TransferEvent,
} from "../../cli/node/transfer/file-transfers.ts";
import type { CallStorage } from "../../cli/node/transfer/part-link.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import type { Method } from "../../shared/protocol/methods.ts";
import type { TransferWorld } from "../../shared/transfer/transfer-world.ts";
import { createMemoryBucket, type MemoryBucket } from "../support/memory-bucket.ts";
import { clientParams, nodeParams } from "../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

/** A machine with the CLI's own code for transfers: a node, or a client. Its folder survives its process. */
export interface Machine {
  folder: string;
  /** Starts its process and connects. @param life calls after which it is killed: before each call, and after it */
  start(life?: { left: number }, options?: Partial<FileTransfersOptions>): Promise<void>;
  /** Whether its process was killed. */
  isKilled(): boolean;
  /** Waits until it has nothing under way. */
  settled(): Promise<void>;
  request(method: Method, params: object): Promise<unknown>;
  write(name: string, bytes: Uint8Array): Promise<string>;
  read(name: string): Promise<Buffer>;
  /** Every file, also those that are written to meanwhile. */
  files(): Promise<string[]>;
}

/** The socket function and machines over the local world, in one process and without a network. */
export interface TransferBench {
  state: State;
  bucket: MemoryBucket;
  world: SocketWorld;
  /** What transfers need of the outside. */
  outside: TransferWorld;
  node(id: string): Promise<Machine>;
  client(id?: string): Promise<Machine>;
  /** Keys of the parts that are stored. */
  parts(): Promise<string[]>;
  close(): Promise<void>;
}

export async function openTransferBench(): Promise<TransferBench> {
  const bucket = createMemoryBucket();
  const state = { ...(await startState()), bucket };
  const world = openSocketWorld(state);
  const root = await mkdtemp(join(tmpdir(), "gsv-transfer-"));
  const listeners = new Map<string, (event: TransferEvent, payload: never) => void>();
  const { outside } = world;
  outside.presigner = { get: async (key) => key, put: async (key, _, bytes) => `${key} ${bytes}` };
  const { post } = world.sockets;
  world.sockets.post = async (connectionId, frame, options) => {
    const outcome = await post(connectionId, frame, options);
    if (frame.type === "evt")
      setImmediate(() => listeners.get(connectionId)?.(frame.event as TransferEvent, frame.payload as never));
    return outcome;
  };
  const storage = storageOf(state);
  const socket = world.start();
  const machine = (mode: "node" | "client") => async (id: string) => {
    const { token } = await world.token([mode]);
    return openMachine({ id, mode, token, folder: join(root, id), socket, storage, listeners });
  };
  const client = machine("client");
  return {
    state,
    bucket,
    world,
    outside: { ...outside, configuration: openConfiguration(state.table, outside.secrets) },
    node: machine("node"),
    client: (id = "cli") => client(id),
    parts: async () => (await state.bucket.list("payloads/transfer/")).objects.map(({ key }) => key),
    async close() {
      await state.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** What a presigned URL does, on the bucket itself. */
function storageOf({ bucket }: State): CallStorage {
  return async (url, { method, body }, _limits, into = Buffer.alloc(0)) => {
    const [key = "", bytes] = url.split(" ");
    if (method === "PUT") {
      const content = body as Uint8Array;
      if (content.byteLength !== Number(bytes)) throw new Error("the storage answered HTTP 403");
      await bucket.put(key, Uint8Array.from(content));
      return Buffer.alloc(0);
    }
    const object = await bucket.get(key);
    if (!object) throw new Error("the storage answered HTTP 404");
    into.set(object.body);
    return into.subarray(0, object.body.byteLength);
  };
}

interface MachineParts {
  id: string;
  mode: "node" | "client";
  token: string;
  folder: string;
  socket: SocketFunction;
  storage: CallStorage;
  listeners: Map<string, (event: TransferEvent, payload: never) => void>;
}

let connections = 0;

async function openMachine(parts: MachineParts): Promise<Machine> {
  const { id, mode, token, folder, socket, listeners } = parts;
  await mkdir(folder, { recursive: true });
  let transfers: FileTransfers | undefined;
  let connectionId = "";
  let killed = false;
  const call = async (method: Method, params: object): Promise<unknown> => {
    const response = await socket.request(connectionId, method, params);
    if (response?.ok) return response.payload;
    const { code = 101, message = "no answer", retryable = true } = response?.error ?? {};
    throw new RequestError(code, message, { retryable });
  };
  return {
    folder,
    async start(life = { left: Number.POSITIVE_INFINITY }, options = {}) {
      connectionId = `${id}-${++connections}`;
      killed = false;
      const die = (): never => {
        killed = true;
        own.pause();
        throw new Error("killed");
      };
      const mortal = <A extends unknown[], R>(work: (...args: A) => Promise<R>) => {
        return async (...args: A): Promise<R> => {
          if (--life.left < 0) die();
          const answer = await work(...args);
          return --life.left < 0 ? die() : answer;
        };
      };
      const own: FileTransfers = new FileTransfers({
        gateway: { request: mortal(call) as never },
        base: folder,
        log: () => {},
        storage: mortal(parts.storage),
        maxWaitMs: 1,
        ...options,
      });
      transfers = own;
      listeners.set(connectionId, (event, payload) => {
        if (!killed) own.handle(event, payload);
      });
      await socket.open(connectionId, token);
      const params = mode === "node" ? nodeParams(id, ["probe"]) : clientParams(id);
      await call("connect", { ...params, capabilities: ["transfer"] });
    },
    isKilled: () => killed,
    settled: async () => transfers?.settled(),
    request: call,
    async write(name, bytes) {
      await writeFile(join(folder, name), bytes);
      return join(folder, name);
    },
    read: (name) => readFile(join(folder, name)),
    files: () => readdir(folder),
  };
}
