import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";

/**
 * Has a server listen on a port that stays free when it is closed: below those that the system gives out to a program that asks
 * for any. @returns the port
 */
export function occupyPort(server: Server): Promise<number> {
  const port = randomInt(20_000, 30_000);
  return new Promise((resolve, reject) => {
    const isTaken = (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(occupyPort(server)) : reject(error);
    server.once("error", isTaken);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", isTaken);
      resolve(port);
    });
  });
}

/** A port that nobody listens on, and that is given to nobody who asks for any. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await occupyPort(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
