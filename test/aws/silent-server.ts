import { type AddressInfo, createServer, type Socket } from "node:net";

/** A server that accepts connections and data, and never answers. */
export interface SilentServer {
  url: string;
  /** Connections that were accepted. */
  accepted: number;
  close(): Promise<void>;
}

/** @param greeting what each connection is sent as soon as it says something, before the silence */
export async function startSilentServer(greeting = ""): Promise<SilentServer> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    silent.accepted += 1;
    open.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("data", () => greeting && socket.write(greeting));
    socket.resume();
  });
  const silent: SilentServer = {
    url: "",
    accepted: 0,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  silent.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return silent;
}
