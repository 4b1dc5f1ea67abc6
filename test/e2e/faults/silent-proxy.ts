import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Passes requests on to a service, and drops a given number of them: those get no answer. */
export interface SilentProxy {
  url: string;
  /** URL of the service. */
  target: string;
  /** How many of the next requests to drop. */
  toSwallow: number;
  swallowed: number;
  close(): Promise<void>;
}

export async function startSilentProxy(): Promise<SilentProxy> {
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const service = connect(Number(new URL(proxy.target).port), "127.0.0.1");
    for (const socket of [client, service]) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        client.destroy();
        service.destroy();
        open.delete(socket);
      });
    }
    let isSilent = false;
    client.on("data", (data) => {
      if (!isSilent && proxy.toSwallow > 0) {
        isSilent = true;
        proxy.toSwallow -= 1;
        proxy.swallowed += 1;
      }
      if (!isSilent) service.write(data);
    });
    service.on("data", (data) => client.write(data));
  });
  const proxy: SilentProxy = {
    url: "",
    target: "",
    toSwallow: 0,
    swallowed: 0,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}
