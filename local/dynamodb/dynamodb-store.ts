import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { accountId, region } from "../http/account.ts";
import { StoreLockedError } from "../items/store-errors.ts";

/** An answer of DynamoDB's JSON protocol. */
export interface DynamoDBAnswer {
  status: number;
  /** JSON text. */
  body: string;
}

/** Items on disk behind DynamoDB's operations. */
export interface DynamoDBStore {
  /** @param body the operation's input as JSON text */
  call(operation: string, body: string): Promise<DynamoDBAnswer>;
  close(): Promise<void>;
}

interface WorkerMessage {
  id?: number;
  status?: number;
  body?: string;
  ready?: true;
  failed?: { code?: string; message: string };
  crashed?: string;
}

const internalError: DynamoDBAnswer = {
  status: 500,
  body: JSON.stringify({
    __type: "com.amazonaws.dynamodb.v20120810#InternalServerError",
    message: "internal error",
  }),
};

/**
 * Opens the store in a thread, and again after that thread has died: what it was doing is answered with
 * InternalServerError, which the SDK retries.
 * @param path folder of the LevelDB; one store at a time, held by a lock of the operating system
 * @param onCrash told why the thread died
 * @throws StoreLockedError
 */
export async function openDynamoDBStore(
  path: string,
  onCrash: (reason: string) => void,
): Promise<DynamoDBStore> {
  const waiting = new Map<number, (answer: DynamoDBAnswer) => void>();
  let nextId = 0;
  let closed = false;
  let current = startThread(path);

  function attend(thread: Worker): void {
    thread.on("message", ({ id, status, body, crashed }: WorkerMessage) => {
      if (crashed !== undefined) onCrash(crashed);
      if (id === undefined || status === undefined || body === undefined) return;
      waiting.get(id)?.({ status, body });
      waiting.delete(id);
    });
    thread.once("exit", () => {
      for (const answer of waiting.values()) answer(internalError);
      waiting.clear();
      if (closed) return;
      current = startThread(path);
      current.then(attend, (error: unknown) => onCrash(`cannot open the store again: ${error}`));
    });
  }

  attend(await current);
  return {
    async call(operation, body) {
      const thread = await current.catch(() => undefined);
      if (closed || thread === undefined) return internalError;
      const id = nextId++;
      return new Promise((resolve) => {
        waiting.set(id, resolve);
        thread.postMessage({ id, operation, body });
      });
    },
    async close() {
      closed = true;
      const thread = await current.catch(() => undefined);
      if (thread === undefined || thread.threadId < 0) return;
      const exited = once(thread, "exit");
      thread.postMessage({ close: true });
      await exited;
    },
  };
}

/** @throws StoreLockedError */
async function startThread(path: string): Promise<Worker> {
  const thread = new Worker(new URL("./dynamodb-worker.mjs", import.meta.url), {
    workerData: { path },
    env: { AWS_REGION: region, AWS_ACCOUNT_ID: accountId },
    execArgv: [],
  });
  const [message] = (await once(thread, "message")) as [WorkerMessage];
  if (message.ready) return thread;
  await thread.terminate();
  const { code, message: reason } = message.failed ?? { message: "the store did not open" };
  throw code === "LEVEL_LOCKED" ? new StoreLockedError(reason) : new Error(reason);
}
