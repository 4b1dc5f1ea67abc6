import { setTimeout } from "node:timers/promises";
import { atExpression } from "../../shared/world/schedule-time.ts";
import { openFormatted } from "../../shared/world/stored-format.ts";
import type { Schedules, Secrets, Sockets, World } from "../../shared/world/world.ts";
import { scheduleGroup, scheduleRoleArn, ssmPrefix } from "../cloud-names.ts";
import { AwsError } from "../http/aws-error.ts";
import { isRecord } from "../http/json.ts";
import { functionArn } from "../lambda/host.ts";
import type { Machine } from "../machine.ts";
import type { Parameters } from "../parameter-store.ts";
import type { Schedules as ScheduleStore } from "../scheduler/schedule-store.ts";
import type { Connection } from "../websocket/connections.ts";
import { apiGatewayLimits, type WebSocketLimits } from "../websocket/websocket-limits.ts";
import { openLocalBucket } from "./local-bucket.ts";
import { tableOver } from "./local-table.ts";
import { openObjectUrls } from "./object-urls.ts";

export interface LocalWorldOptions {
  /** The open connections by their id. */
  connections: ReadonlyMap<string, Connection>;
  webhookUrl: string;
  gatewayUrl: string;
  /** Origins of the console's page. */
  pageOrigins?: readonly string[];
  mcpUrl?: string;
  limits?: Partial<WebSocketLimits>;
}

/** The world on one machine: function calls on the stores of a data folder, without HTTP and without signatures. */
export function openLocalWorld(machine: Machine, options: LocalWorldOptions): World {
  const { items, objects, parameters, schedules, invocations, onError } = machine;
  const urls = openObjectUrls(objects, onError, options.pageOrigins);
  machine.onClose(() => urls.close());
  return {
    table: openFormatted(tableOver(items)),
    bucket: openLocalBucket(objects),
    presigner: urls.presigner,
    sockets: openLocalSockets(options.connections, options.limits),
    schedules: openLocalSchedules(schedules),
    secrets: openLocalSecrets(parameters),
    async wake(sessionKey, configurationVersion) {
      void invocations.invoke("agent", { sessionKey, configurationVersion });
    },
    webhookUrl: options.webhookUrl,
    gatewayUrl: options.gatewayUrl,
    pageOrigins: options.pageOrigins,
    mcpUrl: options.mcpUrl,
    now: Date.now,
    pause: openPauses(machine),
  };
}

/** Pauses that end when the machine closes. */
function openPauses(machine: Machine): World["pause"] {
  const closing = new AbortController();
  machine.onClose(async () => closing.abort());
  return (ms) => setTimeout(ms, true, { signal: closing.signal }).catch(() => false);
}

/** Sends directly to the open connections of the local WebSocket API, within API Gateway's limits. */
function openLocalSockets(
  connections: ReadonlyMap<string, Connection>,
  limits: Partial<WebSocketLimits> = {},
): Sockets {
  const { messageBytes } = { ...apiGatewayLimits, ...limits };
  return {
    async post(connectionId, frame) {
      const data = Buffer.from(JSON.stringify(frame));
      if (data.byteLength > messageBytes) return "too large";
      const sent = connections.get(connectionId)?.send(data);
      if (sent === "full") return "busy";
      return sent ? "sent" : "gone";
    },
    async close(connectionId) {
      connections.get(connectionId)?.close(1000, "");
    },
  };
}

/** One-shot schedules in the store that the local EventBridge Scheduler serves. */
function openLocalSchedules(store: ScheduleStore): Schedules {
  return {
    async once(name, at, event) {
      try {
        await store.create(scheduleGroup, name, {
          expression: atExpression(at, Date.now()),
          timezone: "UTC",
          target: { Arn: functionArn("timer"), RoleArn: scheduleRoleArn, Input: JSON.stringify(event) },
          enabled: true,
          deleteAfterCompletion: true,
        });
      } catch (error) {
        if (!(error instanceof AwsError && error.code === "ConflictException")) throw error;
      }
    },
  };
}

/** Secrets in the parameters that the local Systems Manager serves. */
export function openLocalSecrets({ operations }: Parameters, prefix = ssmPrefix): Secrets {
  const nameOf = (path: string) => `${prefix}/secrets/${path.replaceAll(".", "/")}`;
  return {
    async get(path) {
      const request = { Name: nameOf(path), WithDecryption: true };
      const answer = await unlessAbsent(async () => operations.GetParameter(request));
      const value = isRecord(answer?.Parameter) ? answer.Parameter.Value : undefined;
      return typeof value === "string" ? value : undefined;
    },
    async put(path, value) {
      await operations.PutParameter({
        Name: nameOf(path),
        Value: value,
        Type: "SecureString",
        Overwrite: true,
      });
    },
    async delete(path) {
      await unlessAbsent(async () => operations.DeleteParameter({ Name: nameOf(path) }));
    },
  };
}

async function unlessAbsent<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof AwsError && error.code === "ParameterNotFound") return undefined;
    throw error;
  }
}
