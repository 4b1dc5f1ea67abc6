import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startLocalGateway } from "../../../local/in-process-gateway.ts";
import { startOfflineModel } from "../../../local/offline-model/offline-model-server.ts";
import { scopes } from "../../../shared/protocol/methods.ts";
import type { World } from "../../../shared/world/world.ts";
import { standingAdmin } from "../../support/standing-admin.ts";
import { victim } from "./victim-names.ts";

/** The gateway's addresses, and its owner's token. */
export interface Addresses {
  ws: string;
  webhook: string;
  /** The data folder. */
  dir: string;
  token: string;
  /** The offline model's server. */
  model: { url: string; id: string };
}

/** The state of the gateway's process. */
export interface Vitals {
  /** Heap in use after a garbage collection, and memory of the process, in MB. */
  heapMb: number;
  rssMb: number;
  /** Logged errors by event and message: their count, and one line of each. */
  errors: Record<string, { count: number; example: string }>;
}

/** A gateway under attack: the real functions with the local world and real sockets on 127.0.0.1. */
export interface Target extends Addresses {
  /** A digest of each of the victim's things, by name. */
  belongings(): Promise<Record<string, string>>;
  vitals(): Promise<Vitals>;
  /** Why the gateway's process ended; undefined while it runs. */
  ended(): string | undefined;
  close(): Promise<void>;
}

/** Starts a gateway in this process. */
export async function startTarget(dir: string): Promise<Target> {
  const errors: Vitals["errors"] = {};
  const model = await startOfflineModel();
  const gateway = await startLocalGateway({ dir, log: (_name, line) => countError(errors, line) });
  const { token } = await standingAdmin(gateway.world.table, scopes);
  return {
    ws: gateway.ws,
    webhook: gateway.webhook,
    dir,
    token,
    model: { url: model.url, id: model.model },
    belongings: () => belongings(gateway.world, dir),
    async vitals() {
      globalThis.gc?.();
      const { heapUsed, rss } = process.memoryUsage();
      return { heapMb: toMb(heapUsed), rssMb: toMb(rss), errors };
    },
    ended: () => undefined,
    async close() {
      await gateway.close();
      await model.close();
    },
  };
}

const toMb = (bytes: number) => Math.round(bytes / 1024 / 1024);

/** Lines that are not JSON come from the process itself, and are errors. */
function countError(errors: Vitals["errors"], line: string): void {
  const event = errorEvent(line);
  if (event === undefined) return;
  const known = errors[event];
  if (known) known.count++;
  else errors[event] = { count: 1, example: line.slice(0, 2000) };
}

function errorEvent(line: string): string | undefined {
  try {
    const { event, level, error } = JSON.parse(line) as Record<string, unknown>;
    return level === "error" ? `${event}: ${String(error).split("\n")[0]}` : undefined;
  } catch {
    return `machine: ${line.split("\n")[0]}`;
  }
}

async function belongings({ table, bucket }: World, dir: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const partitions = [`S#${victim.session}`, "CONFIG", "TOKEN", "PEER#node", "PEER#client"];
  for (const pk of partitions) {
    for (const item of await table.query({ pk })) {
      const isOthers = pk.startsWith("PEER#") && item.sk !== victim.node && item.sk !== victim.client;
      // The time of a token's last use is recorded once an hour.
      if (!isOthers)
        found[`item ${pk} ${item.sk}`] = digest(JSON.stringify({ ...item, lastUsedAt: undefined }));
    }
  }
  for (const { key } of (await bucket.list(`agents/${victim.agent}/`)).objects) {
    const object = await bucket.get(key);
    found[`file ${key}`] = digest(object?.body ?? "");
  }
  found.secrets = digest(await readFile(join(dir, "ssm.json")));
  return found;
}

const digest = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");
