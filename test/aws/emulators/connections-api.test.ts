import {
  ApiGatewayManagementApiClient,
  DeleteConnectionCommand,
  ForbiddenException,
  GetConnectionCommand,
  GoneException,
  PayloadTooLargeException,
  PostToConnectionCommand,
} from "@aws-sdk/client-apigatewaymanagementapi";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Endpoint } from "../../../local/http/http-endpoint.ts";
import { startWebSocketApi } from "../../../local/websocket/websocket-api.ts";
import type { WebSocketEvent } from "../../../local/websocket/websocket-events.ts";
import { until } from "../../support/until.ts";
import type { AccessRequest } from "./access.ts";
import { connectionsApi } from "./connections-api.ts";
import { clientConfig } from "./support.ts";

let api: Endpoint;
let client: ApiGatewayManagementApiClient;
let events: WebSocketEvent[];
let asked: AccessRequest[];
let allowed: boolean;
let onConnect: (event: WebSocketEvent) => Promise<void>;
let socket: WebSocket;

const names = { stage: "ws", apiId: "local" };

function authorize(request: AccessRequest): boolean {
  asked.push(request);
  return allowed;
}

beforeEach(async () => {
  events = [];
  asked = [];
  allowed = true;
  onConnect = async () => undefined;
  api = await startWebSocketApi({
    invoke: async (event) => {
      events.push(event);
      if (event.requestContext.routeKey === "$connect") await onConnect(event);
      return { statusCode: 200 };
    },
    ...names,
    answerHttp: (connections) => connectionsApi({ connections, ...names, authorize }),
  });
  client = new ApiGatewayManagementApiClient(clientConfig(`http://127.0.0.1:${api.port}/ws`));
});

afterEach(async () => {
  socket?.terminate();
  await api.close();
});

async function connected(): Promise<string> {
  socket = new WebSocket(api.url);
  await new Promise((resolve) => socket.once("open", resolve));
  return events[0]?.requestContext.connectionId ?? "";
}

const post = (ConnectionId: string, data: string) =>
  client.send(new PostToConnectionCommand({ ConnectionId, Data: Buffer.from(data) }));

describe("@connections", () => {
  it("sends to a connection, in order, up to 128 KB", async () => {
    const id = await connected();
    const received: string[] = [];
    socket.on("message", (data) => received.push(String(data)));
    const texts = ["first", "ä".repeat(64 * 1024), "last"];
    for (const text of texts) await post(id, text);
    await until(() => received.length === 3);
    expect(received).toEqual(texts);
  });

  it("raises PayloadTooLargeException above 128 KB and leaves the connection open", async () => {
    const id = await connected();
    await expect(post(id, "x".repeat(128 * 1024 + 1))).rejects.toBeInstanceOf(PayloadTooLargeException);
    await post(id, "still open");
  });

  it("describes a connection", async () => {
    const id = await connected();
    const answer = await client.send(new GetConnectionCommand({ ConnectionId: id }));
    expect(answer.Identity?.SourceIp).toBe("127.0.0.1");
    expect(answer.ConnectedAt).toBeInstanceOf(Date);
    expect(answer.LastActiveAt).toBeInstanceOf(Date);
  });

  it("closes a connection, which is then gone", async () => {
    const id = await connected();
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await client.send(new DeleteConnectionCommand({ ConnectionId: id }));
    await expect(post(id, "late")).rejects.toBeInstanceOf(GoneException);
    await expect(client.send(new GetConnectionCommand({ ConnectionId: id }))).rejects.toBeInstanceOf(
      GoneException,
    );
    await expect(client.send(new DeleteConnectionCommand({ ConnectionId: id }))).rejects.toBeInstanceOf(
      GoneException,
    );
    expect(await closed).toBe(1000);
    await until(() => events.some(({ requestContext }) => requestContext.routeKey === "$disconnect"));
  });

  it("answers GoneException for an unknown connection and for one whose $connect still runs", async () => {
    await expect(post("AAAAAAAAAAAAAAA=", "x")).rejects.toBeInstanceOf(GoneException);
    let during: unknown;
    onConnect = async ({ requestContext }) => {
      during = await post(requestContext.connectionId, "early").catch((error: unknown) => error);
    };
    const id = await connected();
    expect(during).toBeInstanceOf(GoneException);
    await post(id, "now");
  });

  it("answers LimitExceededException for that one connection, with its id", async () => {
    const stuck = await connected();
    const other = new WebSocket(api.url);
    const received: string[] = [];
    other.on("message", (data) => received.push(String(data)));
    await new Promise((resolve) => other.once("open", resolve));
    socket.pause();
    const headers = { authorization: "AWS4-HMAC-SHA256 Credential=A/1/us-east-1/execute-api/aws4_request" };
    const send = (id: string, body: string) =>
      fetch(`http://127.0.0.1:${api.port}/ws/@connections/${encodeURIComponent(id)}`, {
        method: "POST",
        headers,
        body,
      });
    let refused = await send(stuck, "x");
    for (let n = 0; n < 400 && refused.ok; n += 1) refused = await send(stuck, "x".repeat(128 * 1024));
    expect(refused.status).toBe(429);
    expect(refused.headers.get("x-amzn-errortype")).toBe("LimitExceededException");
    const requestId = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(await refused.json()).toEqual({ message: expect.any(String), connectionId: stuck, requestId });
    expect((await send(String(events[1]?.requestContext.connectionId), "read on")).status).toBe(200);
    await until(() => received.length === 1);
    other.terminate();
  });

  it("answers ForbiddenException for a connection of another stage", async () => {
    const id = await connected();
    client = new ApiGatewayManagementApiClient(clientConfig(`http://127.0.0.1:${api.port}/other`));
    await expect(post(id, "x")).rejects.toBeInstanceOf(ForbiddenException);
  });

  it("asks for ManageConnections on the connection and refuses without it", async () => {
    const id = await connected();
    allowed = false;
    await expect(post(id, "x")).rejects.toMatchObject({ name: "AccessDeniedException" });
    const resource = `arn:aws:execute-api:us-east-1:000000000000:local/ws/POST/@connections/${id}`;
    expect(asked).toEqual([{ accessKeyId: "LOCALTEST", action: "execute-api:ManageConnections", resource }]);
  });

  it("takes the path with and without the stage, and only signed requests", async () => {
    const id = encodeURIComponent(await connected());
    const url = `http://127.0.0.1:${api.port}`;
    const headers = { authorization: "AWS4-HMAC-SHA256 Credential=A/1/us-east-1/execute-api/aws4_request" };
    for (const path of [`/@connections/${id}`, `/ws/@connections/${id}`]) {
      expect((await fetch(url + path, { headers })).status).toBe(200);
      expect((await fetch(url + path)).status).toBe(403);
    }
    expect((await fetch(`${url}/ws/@connections/%zz`, { headers })).status).toBe(410);
    expect((await fetch(`${url}/ws/@connections`, { headers })).status).toBe(426);
  });
});
