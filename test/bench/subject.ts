import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cloud, startCloud } from "../../local/cloud.ts";
import { startInProcessHost } from "../../local/lambda/in-process-host.ts";
import { openDynamoDBTable } from "../../shared/aws/dynamodb-table.ts";
import { openSsmSecrets } from "../../shared/aws/ssm-secrets.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { openClient, openNode, type Peer } from "../support/peer.ts";
import { type SeenCall, startProxy } from "./latency.ts";

/** When things happened in a run, ms of `performance.now()`. */
export interface Marks {
  sent: number;
  /** When each model request had arrived, and when its answer was complete. */
  asked: number[];
  answered: number[];
  /** When the node sent its result. */
  result?: number;
  final: number;
}

/** The system under measurement: in-process host, local DynamoDB and S3, instant scripted model, one client, one node. */
export interface Subject {
  turn(sessionKey: string, kind: "plain" | "tool"): Promise<Marks>;
  /** AWS calls that went by; only filled with a latency factor. */
  calls: SeenCall[];
  /** Duration of invocations by function, ms, as logged. */
  durations: Record<string, number[]>;
  metaBytes(sessionKey: string): Promise<number>;
  close(): Promise<void>;
}

const proxied = {
  dynamodb: "DYNAMODB",
  s3: "S3",
  scheduler: "SCHEDULER",
  lambda: "LAMBDA",
  ssm: "SSM",
} as const;

export interface SubjectOptions {
  /** Undefined: straight to the endpoints; else a proxy delays each call by this times the real delay. */
  latency?: number;
  /** How long the node's tool takes, in milliseconds; by default it answers at once. */
  toolMs?: number;
}

export async function startSubject({ latency, toolMs = 0 }: SubjectOptions = {}): Promise<Subject> {
  const dir = await mkdtemp(join(tmpdir(), "gsv-bench-"));
  const calls: SeenCall[] = [];
  const durations: Record<string, number[]> = {};
  const marks = new Map<string, Marks>();
  const model = await startModel(marks);
  const targets: Record<string, string> = {};
  const proxies: Record<string, string> = {};
  const closers: (() => Promise<void>)[] = [];
  if (latency !== undefined) {
    for (const service of [...Object.keys(proxied), "connections"]) {
      const proxy = await startProxy(service, () => String(targets[service]), calls, latency);
      proxies[service] = proxy.url;
      closers.push(proxy.close);
    }
  }
  const cloud = await startCloud({
    dir,
    host: (env, log) => startInProcessHost({ env: throughProxies(env, targets, proxies), log }),
    log: (_name, text) => noteDuration(durations, text),
  });
  const { client, token } = await connect(cloud, model);
  const node = await openNode(cloud.ws, token, "laptop", {
    Work: async (args) => {
      if (toolMs > 0) await new Promise((resolve) => setTimeout(resolve, toolMs));
      const mark = marks.get(String(args.run));
      if (mark) mark.result = performance.now();
      return "done";
    },
  });
  return {
    calls,
    durations,
    turn: (sessionKey, kind) => turn(client, marks, sessionKey, kind),
    metaBytes: async (key) =>
      Buffer.byteLength(
        JSON.stringify(await openDynamoDBTable(cloud.table).get({ pk: `S#${key}`, sk: "META" })),
      ),
    async close() {
      await client.close();
      await node.close();
      await cloud.close();
      for (const close of closers) await close();
      await model.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Answers "plain {run}" at once, and "tool {run}" with a call and then an answer. */
async function startModel(marks: Map<string, Marks>): Promise<ModelServer> {
  return startOpenAiServer((request) => {
    const last = request.turns.findLast((one) => one.role === "user")?.text ?? "";
    const [kind, run = ""] = last.split(" ");
    const mark = marks.get(run);
    mark?.asked.push(performance.now());
    mark?.answered.push(performance.now());
    const answered = request.turns.at(-1)?.role === "tool";
    return kind === "tool" && !answered
      ? { toolCalls: [{ name: "laptop__Work", arguments: { run } }] }
      : { text: ["done"] };
  });
}

function throughProxies(
  env: Record<string, string>,
  targets: Record<string, string>,
  proxies: Record<string, string>,
): Record<string, string> {
  const changed = { ...env };
  for (const [service, name] of Object.entries(proxied)) {
    const variable = `AWS_ENDPOINT_URL_${name}`;
    targets[service] = String(env[variable]);
    if (proxies[service]) changed[variable] = proxies[service];
  }
  const connections = new URL(String(env.WEBSOCKET_API_ENDPOINT));
  targets.connections = connections.origin;
  if (proxies.connections) changed.WEBSOCKET_API_ENDPOINT = proxies.connections + connections.pathname;
  return changed;
}

function noteDuration(durations: Record<string, number[]>, text: string): void {
  for (const line of text.split("\n")) {
    const match = /"event":"(\w+)\.out".*"ms":(\d+)/.exec(line);
    const name = match?.[1];
    if (name) durations[name] = [...(durations[name] ?? []), Number(match[2])];
  }
}

async function connect(cloud: Cloud, model: ModelServer): Promise<{ client: Peer; token: string }> {
  const table = openDynamoDBTable(cloud.table);
  const configuration = openConfiguration(table, openSsmSecrets(String(cloud.env.SSM_PREFIX)));
  await configuration.set("model", { provider: "openai-compatible", id: "instant", baseUrl: model.url });
  await configuration.set("apiKeys.openai-compatible", "key");
  const { token } = await createToken(
    table,
    { name: "bench", scopes: ["client", "node", "admin"] },
    Date.now(),
  );
  return { client: await openClient(cloud.ws, token), token };
}

let count = 0;

async function turn(
  client: Peer,
  marks: Map<string, Marks>,
  sessionKey: string,
  kind: "plain" | "tool",
): Promise<Marks> {
  const run = `r${count++}`;
  const mark: Marks = { sent: performance.now(), asked: [], answered: [], final: 0 };
  marks.set(run, mark);
  const ended = new Promise<void>((resolve, reject) => {
    const stop = client.onEvent(({ event, payload }) => {
      const { runId, state, error } = payload as { runId?: string; state?: string; error?: string };
      if (event !== "chat" || runId !== run || (state !== "final" && state !== "error")) return;
      mark.final = performance.now();
      stop();
      if (state === "error") reject(new Error(error));
      else resolve();
    });
  });
  client.send({
    type: "req",
    id: run,
    method: "chat.send",
    params: { sessionKey, message: `${kind} ${run}`, runId: run },
  });
  await ended;
  marks.delete(run);
  return mark;
}
