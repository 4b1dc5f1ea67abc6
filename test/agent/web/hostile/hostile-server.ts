import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { certificate, key } from "./certificate.ts";
import { type HostileCase, indexOf } from "./hostile-case.ts";

/** A server that behaves as each case says: with TLS, and on another port without. */
export async function startHostileServer(cases: readonly HostileCase[]) {
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  };
  const secure = createTlsServer({ cert: certificate, key }, (socket) => {
    track(socket);
    let head = "";
    const read = (bytes: Buffer) => {
      head += bytes.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.off("data", read);
      const [, host = ""] = /^host: (\S+)/im.exec(head) ?? [];
      const [, path = ""] = /^GET (\S+)/.exec(head) ?? [];
      const { answer = () => socket.end("HTTP/1.1 200 OK\r\n\r\nopened") } = cases[indexOf(host)] ?? {};
      answer(socket, path, head);
    };
    socket.on("data", read);
  });
  secure.on("tlsClientError", () => {}).on("connection", track);
  // The client's first message names the host.
  const bare = createServer((socket) => {
    track(socket);
    socket.once("data", (hello) => cases[indexOf(hello.toString("latin1"))]?.bare?.(socket));
  });
  const ports = await Promise.all([secure, bare].map(listen));
  return {
    ports,
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all([secure, bare].map((server) => new Promise((done) => server.close(done))));
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
