import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Endpoint } from "../../local/http/http-endpoint.ts";
import { startWebSocketApi, type WebSocketApiOptions } from "../../local/websocket/websocket-api.ts";
import type { WebSocketEvent } from "../../local/websocket/websocket-events.ts";
import { until } from "../support/until.ts";

type Answer = (event: WebSocketEvent) => unknown;

let api: Endpoint;
let events: WebSocketEvent[];
let errors: unknown[];
let sockets: WebSocket[] = [];

const ok = () => ({ statusCode: 200 });
const route = (event: WebSocketEvent) => event.requestContext.routeKey;
const onDefault =
  (answer: Answer): Answer =>
  (event) =>
    route(event) === "$default" ? answer(event) : ok();
const bodies = () => events.flatMap(({ body }) => (body === undefined ? [] : [body]));

async function start(
  answer: Answer = ok,
  limits: WebSocketApiOptions["limits"] = {},
  losesDisconnect?: WebSocketApiOptions["losesDisconnect"],
) {
  events = [];
  errors = [];
  api = await startWebSocketApi({
    invoke: async (event) => {
      events.push(event);
      return answer(event);
    },
    stage: "ws",
    apiId: "local",
    limits,
    losesDisconnect,
    onError: (error) => errors.push(error),
  });
}

function client(path = "/ws", headers: Record<string, string> = {}): WebSocket {
  const socket = new WebSocket(`${api.url}${path}`, { headers });
  socket.on("error", () => undefined);
  sockets.push(socket);
  return socket;
}

async function opened(path?: string, headers?: Record<string, string>): Promise<WebSocket> {
  const socket = client(path, headers);
  await new Promise((resolve) => socket.once("open", resolve));
  return socket;
}

const closing = (socket: WebSocket) =>
  new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once("close", (code, reason) => resolve({ code, reason: reason.toString() })),
  );
const nextMessage = (socket: WebSocket) =>
  new Promise<Record<string, unknown>>((resolve) =>
    socket.once("message", (data) => resolve(JSON.parse(String(data)))),
  );
const refusal = (socket: WebSocket) =>
  new Promise<number | undefined>((resolve) =>
    socket.once("unexpected-response", (_request, response) => resolve(response.statusCode)),
  );

/** Sends one message in frames of at most 32 KB, as API Gateway wants it. */
function sendInFrames(socket: WebSocket, text: string) {
  const data = Buffer.from(text);
  for (let offset = 0; offset < data.length; offset += 32_768) {
    const fin = offset + 32_768 >= data.length;
    socket.send(data.subarray(offset, offset + 32_768), { binary: false, fin });
  }
}

afterEach(async () => {
  for (const socket of sockets) socket.terminate();
  sockets = [];
  await api.close();
});

describe("the WebSocket API", () => {
  it("connects, hands over messages and reports the end, in API Gateway's events", async () => {
    await start();
    const socket = await opened("/ws?a=1&a=2", { Authorization: "Bearer t", "User-Agent": "test" });
    socket.send("hello");
    await until(() => events.length === 2);
    socket.close(1000, "bye");
    await until(() => events.length === 3);

    const [connected, message, disconnected] = events;
    const connectionId = connected?.requestContext.connectionId;
    expect(connectionId).toMatch(/^[\w-]{15}=$/);
    expect(connected).toMatchObject({
      headers: { Authorization: "Bearer t", "User-Agent": "test", "Sec-WebSocket-Version": "13" },
      queryStringParameters: { a: "2" },
      multiValueQueryStringParameters: { a: ["1", "2"] },
      isBase64Encoded: false,
      requestContext: {
        routeKey: "$connect",
        eventType: "CONNECT",
        stage: "ws",
        apiId: "local",
        domainName: `127.0.0.1:${api.port}`,
        identity: { sourceIp: "127.0.0.1", userAgent: "test" },
      },
    });
    expect(message).toMatchObject({
      body: "hello",
      requestContext: { routeKey: "$default", eventType: "MESSAGE", connectionId },
    });
    expect(message?.headers).toBeUndefined();
    expect(disconnected).toMatchObject({
      requestContext: {
        routeKey: "$disconnect",
        eventType: "DISCONNECT",
        connectionId,
        disconnectStatusCode: 1000,
        disconnectReason: "bye",
      },
    });
    expect(new Set(events.map((event) => event.requestContext.requestId)).size).toBe(3);
  });

  it("refuses a connection with the status that $connect answers, 502 when it fails and 504 when it is late", async () => {
    const answers: Answer[] = [
      () => ({ statusCode: 401 }),
      () => ({ statusCode: 403 }),
      () => Promise.reject(new Error("as told")),
      () => null,
      () => new Promise(() => undefined),
    ];
    const statuses: (number | undefined)[] = [];
    await start(() => answers[statuses.length]?.(events[0] as WebSocketEvent), { integrationMs: 100 });
    for (const _ of answers) statuses.push(await refusal(client()));
    expect(statuses).toEqual([401, 403, 502, 502, 504]);
    expect(events.map(route)).toEqual(answers.map(() => "$connect"));
  });

  it("accepts any path and ignores what the function returns for a message", async () => {
    await start(() => ({ statusCode: 500, body: "not sent" }), {});
    expect(await refusal(client("/"))).toBe(500);
    await api.close();
    await start(onDefault(() => ({ statusCode: 500, body: "not sent" })));
    const socket = await opened("/");
    const received: unknown[] = [];
    socket.on("message", (data) => received.push(data));
    socket.send("one");
    await until(() => bodies().length === 1);
    socket.close();
    await closing(socket);
    expect(received).toEqual([]);
  });

  it("hands over messages of one connection without waiting for the one before", async () => {
    await start(onDefault(() => new Promise(() => undefined)));
    const socket = await opened();
    for (const text of ["one", "two", "three"]) socket.send(text);
    await until(() => bodies().length === 3);
    expect(bodies().sort()).toEqual(["one", "three", "two"]);
  });

  it("tells the client when the function fails or answers without a status", async () => {
    await start(
      onDefault(({ body }) => {
        if (body === "throw") throw new Error("as told");
      }),
    );
    const socket = await opened();
    for (const text of ["throw", "nothing"]) {
      const answer = nextMessage(socket);
      socket.send(text);
      const { connectionId, requestId } = await answer.then((message) => {
        expect(message.message).toBe("Internal server error");
        return message;
      });
      expect(events.at(-1)?.requestContext).toMatchObject({ connectionId, requestId });
    }
    expect(errors).toHaveLength(2);
  });

  it("tells the client when the function is late", async () => {
    await start(
      onDefault(() => new Promise(() => undefined)),
      { integrationMs: 20 },
    );
    const socket = await opened();
    const answer = nextMessage(socket);
    socket.send("slow");
    expect((await answer).message).toBe("Endpoint request timed out");
  });

  it("takes 128 KB in frames of 32 KB and closes with 1009 above", async () => {
    await start();
    const text = "x".repeat(128 * 1024);
    const socket = await opened();
    sendInFrames(socket, text);
    await until(() => bodies().length === 1);
    expect(bodies()[0]).toBe(text);
    const closed = closing(socket);
    sendInFrames(socket, `${text}x`);
    expect(await closed).toEqual({ code: 1009, reason: "Message too big" });
    expect(bodies()).toHaveLength(1);
  });

  it("closes with 1009 on one frame above 32 KB, and on 10 MB", async () => {
    await start();
    for (const size of [32 * 1024 + 1, 129 * 1024, 10 * 1024 * 1024]) {
      const socket = await opened();
      const closed = closing(socket);
      socket.send("x".repeat(size));
      expect((await closed).code).toBe(1009);
    }
    expect(bodies()).toEqual([]);
    const socket = await opened();
    socket.send("x".repeat(32 * 1024));
    await until(() => bodies().length === 1);
  });

  it("closes with 1003 on a binary frame and hands over nothing that follows", async () => {
    await start();
    const socket = await opened();
    const closed = closing(socket);
    socket.send(Buffer.from("bytes"));
    socket.send("after");
    expect((await closed).code).toBe(1003);
    expect(bodies()).toEqual([]);
  });

  it("closes an idle connection with 1001, but not one that pings, where pings count", async () => {
    await start(ok, { idleMs: 1000, countsPings: true });
    // The older one: it would be closed first if its pings did not count.
    const pinging = await opened();
    const idle = await opened();
    const timer = setInterval(() => pinging.ping(), 20);
    expect(await closing(idle)).toEqual({ code: 1001, reason: "Going away" });
    expect(pinging.readyState).toBe(WebSocket.OPEN);
    clearInterval(timer);
    expect((await closing(pinging)).code).toBe(1001);
  });

  it("closes a connection that only pings", async () => {
    await start(ok, { idleMs: 1000 });
    const [pinging, talking] = [await opened(), await opened()];
    const timers = [setInterval(() => pinging.ping(), 20), setInterval(() => talking.send("still here"), 20)];
    expect((await closing(pinging)).code).toBe(1001);
    expect(talking.readyState).toBe(WebSocket.OPEN);
    for (const timer of timers) clearInterval(timer);
  });

  it("closes a connection of the greatest age with 1001 when told to", async () => {
    await start(ok, { connectionMs: 100, agedCode: 1001 });
    expect(await closing(await opened())).toEqual({ code: 1001, reason: "Going away" });
  });

  it("tells the function nothing of an end that is lost", async () => {
    let lost: string | undefined;
    await start(ok, {}, (connectionId) => connectionId === lost);
    const [first, second] = [await opened(), await opened()];
    lost = events[0]?.requestContext.connectionId;
    first.close();
    await closing(first);
    second.close();
    await until(() => events.some((event) => route(event) === "$disconnect"));
    const told = events.filter((event) => route(event) === "$disconnect");
    expect(told.map(({ requestContext }) => requestContext.connectionId)).toEqual([
      events[1]?.requestContext.connectionId,
    ]);
  });

  it("closes a connection with 1000 at its greatest age, however busy", async () => {
    await start(ok, { connectionMs: 100 });
    const socket = await opened();
    const timer = setInterval(() => socket.readyState === WebSocket.OPEN && socket.send("busy"), 10);
    expect((await closing(socket)).code).toBe(1000);
    clearInterval(timer);
    await until(() => events.some((event) => route(event) === "$disconnect"));
  });

  it("reports the end of a client that left while $connect ran", async () => {
    let finish = () => {};
    await start((event) =>
      route(event) === "$connect" ? new Promise((resolve) => (finish = () => resolve(ok()))) : ok(),
    );
    const socket = client();
    await until(() => events.length === 1);
    socket.terminate();
    await new Promise((resolve) => setTimeout(resolve, 50));
    finish();
    await until(() => events.length === 2);
    expect(events.map(route)).toEqual(["$connect", "$disconnect"]);
  });

  it("goes on after garbage, half a handshake and broken frames", async () => {
    await start();
    const send = (text: string, then: string | Buffer = "") =>
      new Promise<string>((resolve) => {
        let answer = "";
        const socket = connect(api.port, "127.0.0.1", () => socket.write(text));
        socket.on("data", (data) => {
          answer += data.toString("latin1");
          if (then.length > 0) socket.write(then);
          else socket.end();
        });
        socket.on("error", () => undefined);
        socket.on("close", () => resolve(answer));
      });
    const upgrade = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13";
    const key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==";
    expect(await send("\x00\x01garbage\r\n\r\n")).toContain("400");
    expect(await send(`GET / HTTP/1.1\r\nhost: localhost\r\n${upgrade}\r\n\r\n`)).toContain("400");
    expect(await send("GET /ws HTTP/1.1\r\nhost: localhost\r\n\r\n")).toContain("426");
    expect(events).toEqual([]);
    // A frame that is not masked, with reserved bits: the protocol's own close code is 1002.
    const broken = Buffer.from([0xff, 0x01, 0x00]);
    expect(
      await send(`GET // HTTP/1.1\r\nhost: localhost\r\n${upgrade}\r\n${key}\r\n\r\n`, broken),
    ).toContain("101 Switching");
    const socket = await opened();
    socket.send("still here");
    await until(() => bodies().includes("still here"));
  });
});
