import type { Server } from "node:http";
import { createRequire } from "node:module";
import type { Endpoint } from "../../../../local/http/http-endpoint.ts";
import { listen } from "../../../../local/http/http-endpoint.ts";

/**
 * Another implementation of DynamoDB's wire, to compare ours with.
 * @param path folder of its LevelDB; without one its tables are in memory
 */
export async function startDynalite(path?: string): Promise<Endpoint> {
  const dynalite = createRequire(import.meta.url)("dynalite") as (options: object) => Server;
  const server = dynalite({ path, createTableMs: 0, deleteTableMs: 0 });
  const port = await listen(server, 0);
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return { url: `http://127.0.0.1:${port}`, port, close };
}
