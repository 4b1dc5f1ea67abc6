import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { closeServer, listen } from "../../../local/http/http-endpoint.ts";
import { accessKeyIdOf } from "../../aws/emulators/access.ts";
import type { RawResponse } from "../verdict/refusals.ts";
import { type AwsCall, itemKey, type RawRequest, readAwsCall, type Service, services } from "./aws-call.ts";
import type { Worker } from "./host.ts";

/** A call from a function's process to AWS. */
export interface SeenCall extends AwsCall {
  worker: Worker;
  /** The session that the call names, or else that of its process; empty for neither. */
  sessionKey: string;
}

/** Decides what happens to calls between the functions and AWS. */
export interface Interceptor {
  /** "drop": the call never arrives. A response replaces that of AWS. */
  before(call: SeenCall): Promise<"pass" | "drop" | RawResponse>;
  /** Called once AWS has answered. "drop": the answer never arrives. */
  after(call: SeenCall): Promise<"deliver" | "drop" | RawResponse>;
}

export interface AwsProxyOptions {
  interceptor: Interceptor;
  workerOf(accessKeyId: string): Worker | undefined;
  /** Receives every call that AWS has answered; the calls of one session come in the order of their writes. */
  onExchange(call: SeenCall, response: RawResponse): void;
}

export interface AwsProxy {
  /** Returns the environment with this proxy as the endpoints. It passes calls on to the original ones. */
  stand(env: Record<string, string>): Record<string, string>;
  close(): Promise<void>;
}

const variables: Record<Service, string> = {
  dynamodb: "AWS_ENDPOINT_URL_DYNAMODB",
  s3: "AWS_ENDPOINT_URL_S3",
  lambda: "AWS_ENDPOINT_URL_LAMBDA",
  scheduler: "AWS_ENDPOINT_URL_SCHEDULER",
  ssm: "AWS_ENDPOINT_URL_SSM",
  connections: "WEBSOCKET_API_ENDPOINT",
};

/** Starts a server for each service, on 127.0.0.1. */
export async function startAwsProxy(options: AwsProxyOptions): Promise<AwsProxy> {
  const targets = new Map<Service, URL>();
  const agent = new Agent({ keepAlive: true });
  const inTurn = serializeByKey();
  const open = async (service: Service) => {
    const server = createServer((message, response) => {
      const target = targets.get(service);
      // A dead process leaves half a request, or no one to answer.
      if (target)
        relay({ options, service, target, agent, inTurn }, message, response).catch(() => response.destroy());
      else response.destroy();
    });
    return [service, server, await listen(server, 0)] as const;
  };
  const opened = await Promise.all(services.map(open));
  return {
    stand(env) {
      const moved = { ...env };
      for (const [service, , port] of opened) {
        const target = new URL(String(env[variables[service]]));
        targets.set(service, target);
        moved[variables[service]] = `http://127.0.0.1:${port}${target.pathname.replace(/\/$/, "")}`;
      }
      return moved;
    },
    async close() {
      agent.destroy();
      await Promise.all(opened.map(([, server]) => closeServer(server)));
    },
  };
}

interface Relay {
  options: AwsProxyOptions;
  service: Service;
  target: URL;
  agent: Agent;
  inTurn: <T>(key: string, work: () => Promise<T>) => Promise<T>;
}

async function relay(to: Relay, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const { interceptor, workerOf, onExchange } = to.options;
  const request = { ...pick(message), body: await readAll(message) };
  const worker = workerOf(accessKeyIdOf(message.headers) ?? "");
  if (!worker) return void response.destroy();
  worker.heard();
  const call = readAwsCall(to.service, request);
  const seen: SeenCall = { ...call, worker, sessionKey: call.sessionKey ?? worker.task.sessionKey };
  const decision = await interceptor.before(seen);
  if (decision === "drop") return void response.destroy();
  if (decision !== "pass") return send(response, decision);
  // Pass on one write to a session at a time, so that they are seen in the order of the table.
  const partition = call.service === "dynamodb" ? (itemKey(call.input ?? {})?.pk ?? "") : "";
  const answer = await to.inTurn(partition.startsWith("S#") ? partition : "", async () => {
    const passed = await passOn(to, request);
    onExchange(seen, passed);
    return passed;
  });
  const outcome = await interceptor.after(seen);
  if (outcome === "drop") return void response.destroy();
  send(response, outcome === "deliver" ? answer : outcome);
}

function pick(message: IncomingMessage): Omit<RawRequest, "body"> {
  return { method: message.method ?? "GET", url: message.url ?? "/", headers: message.headers };
}

function passOn({ target, agent }: Relay, { method, url, headers, body }: RawRequest): Promise<RawResponse> {
  const { "transfer-encoding": _, connection: __, ...kept } = headers;
  const { hostname, port } = target;
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { hostname, port, method, path: url, agent, headers: { ...kept, "content-length": body.length } },
      async (answer) => {
        try {
          resolve({ status: answer.statusCode ?? 500, headers: answer.headers, body: await readAll(answer) });
        } catch (error) {
          reject(error);
        }
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function send(response: ServerResponse, { status, headers, body }: RawResponse): void {
  if (response.destroyed) return;
  const { "transfer-encoding": _, connection: __, "keep-alive": ___, ...kept } = headers;
  // The SDK compares this header with its own clock, which may run faster than the emulator's.
  const dated = { ...kept, date: new Date().toUTCString() };
  const length = status === 204 || status === 304 ? {} : { "content-length": body.length };
  response.writeHead(status, { ...dated, ...(response.req.method === "HEAD" ? {} : length) });
  response.end(body);
}

/** Runs work with the same key one after the other; work without a key runs at once. */
function serializeByKey(): Relay["inTurn"] {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    if (key === "") return work();
    const before = last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    const settled = mine.catch(() => undefined);
    last.set(key, settled);
    try {
      return await mine;
    } finally {
      if (last.get(key) === settled) last.delete(key);
    }
  };
}
