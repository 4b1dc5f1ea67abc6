import type { World } from "../../shared/world/world.ts";
import type { Machine } from "../machine.ts";
import type { Connection } from "../websocket/connections.ts";
import type { WebSocketLimits } from "../websocket/websocket-limits.ts";
import { openLocalBucket } from "./local-bucket.ts";
import { openLocalSchedules } from "./local-schedules.ts";
import { openLocalSecrets } from "./local-secrets.ts";
import { openLocalSockets } from "./local-sockets.ts";
import { tableOver } from "./local-table.ts";
import { openObjectUrls } from "./object-urls.ts";

export interface LocalWorldOptions {
  /** The open connections by their id. */
  connections: ReadonlyMap<string, Connection>;
  webhookUrl: string;
  limits?: Partial<WebSocketLimits>;
}

/** The world on one machine: function calls on the stores of a data folder, without HTTP and without signatures. */
export function openLocalWorld(machine: Machine, options: LocalWorldOptions): World {
  const { items, objects, parameters, schedules, invocations, onError } = machine;
  const urls = openObjectUrls(objects, onError);
  machine.onClose(() => urls.close());
  return {
    table: tableOver(items),
    bucket: openLocalBucket(objects),
    presigner: urls.presigner,
    sockets: openLocalSockets(options.connections, options.limits),
    schedules: openLocalSchedules(schedules),
    secrets: openLocalSecrets(parameters),
    async wake(sessionKey, configurationVersion) {
      void invocations.invoke("agent", { sessionKey, configurationVersion });
    },
    webhookUrl: options.webhookUrl,
    now: Date.now,
  };
}
