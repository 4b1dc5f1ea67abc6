import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Draw } from "../draw.ts";

/** A connection from one peer to the gateway that can be cut. */
export interface Wire {
  /** The address for the peer to connect to. */
  url: string;
  /** The number of connections that were cut. */
  cuts(): number;
  /** Ends the cuts. */
  calm(): void;
  close(): Promise<void>;
}

/**
 * A TCP proxy on 127.0.0.1. Each connection is cut after a random time, at one end or both; an end that was not closed
 * notices after a while, or only when it is used.
 * @param drawOf the choices for the n-th connection
 */
export async function startWire(
  target: URL,
  drawOf: (connection: number) => Draw,
  restless: boolean,
): Promise<Wire> {
  const open = new Set<Socket>();
  const timers = new Set<NodeJS.Timeout>();
  let connections = 0;
  let cuts = 0;
  let calm = !restless;
  const later = (ms: number, work: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, ms);
    timers.add(timer);
  };
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    const draw = drawOf(connections++);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from);
      from.setNoDelay(true);
      from.on("data", (chunk: Buffer) => to.write(chunk));
      from.on("error", () => undefined);
      from.on("close", () => {
        open.delete(from);
        to.destroy();
      });
    }
    if (calm) return;
    const order = draw.chance(0.5) ? [near, far] : [far, near];
    const noticedAfterMs = draw.chance(0.5) ? 0 : draw.between(0, 5000);
    // Cut some while the peer is still connecting.
    later(draw.chance(0.2) ? draw.between(0, 3000) : draw.between(5_000, 400_000), () => {
      if (calm || near.destroyed) return;
      cuts += 1;
      cut(order[0] as Socket, order[1] as Socket, (work) => later(noticedAfterMs, work));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}${target.pathname}`,
    cuts: () => cuts,
    calm: () => {
      calm = true;
    },
    async close() {
      for (const timer of timers) clearTimeout(timer);
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Drops what one end sends after the other is closed. */
function cut(first: Socket, second: Socket, later: (work: () => void) => void): void {
  first.removeAllListeners("close");
  first.removeAllListeners("data");
  second.removeAllListeners("data");
  second.resume();
  first.destroy();
  later(() => second.destroy());
}
