import { describe, expect, it } from "vitest";
import { PageConnection, type SocketClass } from "../../web/wire/page-connection.ts";

interface SentRequest {
  id: string;
  method: string;
}

/** A socket whose requests wait until the test answers them. Only `connect` is answered at once. */
class TestSocket {
  static last: TestSocket;
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  readonly sent: SentRequest[] = [];

  constructor() {
    TestSocket.last = this;
    queueMicrotask(() => this.onopen?.());
  }

  send(text: string): void {
    const request = JSON.parse(text) as SentRequest;
    if (request.method === "connect") this.receive({ type: "res", id: request.id, ok: true, payload: {} });
    else this.sent.push(request);
  }

  receive(frame: unknown): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }

  close(): void {}
}

const notExecuted = { message: "Internal server error", connectionId: "c-1", requestId: "r-1" };

async function connect(): Promise<PageConnection> {
  const auth = { token: "gsv_x" };
  const Socket = TestSocket as unknown as SocketClass;
  const connection = new PageConnection({ url: "ws://x", auth, clientId: "web-1", version: "1", Socket });
  const connected = new Promise<void>((resolve) => {
    connection.onState(({ status }) => status === "connected" && resolve());
  });
  connection.open();
  await connected;
  return connection;
}

describe("the page's connection", () => {
  it("fails the only open request when API Gateway could not call the gateway", async () => {
    const connection = await connect();
    const request = connection.request("tools.list", {});
    TestSocket.last.receive(notExecuted);
    await expect(request).rejects.toMatchObject({ code: 503, retryable: true });
    expect(connection.state.status).toBe("connected");
    connection.close();
  });

  it("waits for the answers of several requests, because such a failure names none of them", async () => {
    const connection = await connect();
    const requests = [connection.request("tools.list", {}), connection.request("sessions.list", {})];
    TestSocket.last.receive(notExecuted);
    for (const { id } of TestSocket.last.sent)
      TestSocket.last.receive({ type: "res", id, ok: true, payload: id });
    expect(await Promise.all(requests)).toEqual(TestSocket.last.sent.map(({ id }) => id));
    connection.close();
  });
});
