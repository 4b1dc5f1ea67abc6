import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { closeServer, listen } from "../../../local/http/http-endpoint.ts";
import { now } from "../marks.ts";

/**
 * Delays of the real services from a Lambda in the same region (p50), in milliseconds: common published figures for
 * small requests over warm connections.
 */
export const delays = {
  dynamodbItem: 4,
  dynamodbQuery: 6,
  s3Get: 15,
  s3Put: 25,
  invoke: 12,
  connections: 8,
  scheduler: 30,
  ssm: 10,
} as const;

/** One AWS call. Times in ms of `now()`. */
export interface SeenCall {
  service: string;
  operation: string;
  start: number;
  end: number;
  /** Capacity that DynamoDB charged: write units for writes, read units for reads. */
  units?: number;
}

/** A proxy for one endpoint, which delays and records each call. */
export interface DelayingProxy {
  url: string;
  close(): Promise<void>;
}

/** Starts a proxy for a service of the local cloud. `target` is read at each call. */
export async function startProxy(
  service: string,
  target: () => string,
  seen: SeenCall[],
): Promise<DelayingProxy> {
  const server = createServer((req, res) => void pass(service, target(), seen, req, res));
  const port = await listen(server, 0);
  return { url: `http://127.0.0.1:${port}`, close: () => closeServer(server) };
}

async function pass(
  service: string,
  target: string,
  seen: SeenCall[],
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const start = now();
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const operation = operationOf(service, req);
  const body = service === "dynamodb" ? askForCapacity(Buffer.concat(chunks)) : Buffer.concat(chunks);
  await new Promise((resolve) => setTimeout(resolve, delayOf(service, operation)));
  const headers = { ...req.headers, "content-length": String(body.length) };
  const forwarded = httpRequest(
    new URL(req.url ?? "/", target),
    { method: req.method, headers },
    (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("end", () => {
        const whole = Buffer.concat(parts);
        const units = service === "dynamodb" ? unitsOf(whole) : undefined;
        seen.push({ service, operation, start, end: now(), units });
        // The checksum covers the body, which is passed on unchanged.
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        res.end(whole);
      });
    },
  );
  forwarded.on("error", () => res.destroy());
  forwarded.end(body);
}

function operationOf(service: string, req: IncomingMessage): string {
  const target = req.headers["x-amz-target"];
  if (typeof target === "string") return target.split(".").at(-1) ?? target;
  if (service === "lambda") return "Invoke";
  if (service === "scheduler") return "CreateSchedule";
  if (service === "connections") return req.method === "DELETE" ? "DeleteConnection" : "PostToConnection";
  if (req.url?.includes("list-type=2")) return "ListObjectsV2";
  return { GET: "GetObject", PUT: "PutObject", DELETE: "DeleteObject" }[req.method ?? ""] ?? `${req.method}`;
}

function delayOf(service: string, operation: string): number {
  switch (service) {
    case "dynamodb":
      return operation === "Query" ? delays.dynamodbQuery : delays.dynamodbItem;
    case "s3":
      return operation === "GetObject" ? delays.s3Get : delays.s3Put;
    case "lambda":
      return delays.invoke;
    case "connections":
      return delays.connections;
    case "scheduler":
      return delays.scheduler;
    default:
      return delays.ssm;
  }
}

/** Requests the consumed capacity, which the functions do not need. */
function askForCapacity(body: Buffer): Buffer {
  return Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), ReturnConsumedCapacity: "TOTAL" }));
}

function unitsOf(body: Buffer): number | undefined {
  const answer = JSON.parse(body.toString() || "{}") as { ConsumedCapacity?: { CapacityUnits?: number } };
  return answer.ConsumedCapacity?.CapacityUnits;
}
