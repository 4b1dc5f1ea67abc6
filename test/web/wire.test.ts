import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type Dev, startDev } from "../../local/dev/dev.ts";
import { createCode } from "../../shared/peers/codes.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { textOf } from "../../web/state/entries.ts";
import { putBytes } from "../../web/wire/large-params.ts";
import { Outbox, type OutboxMessage } from "../../web/wire/outbox.ts";
import {
  PageConnection,
  type SocketClass,
  type WireAuth,
  type WireState,
} from "../../web/wire/page-connection.ts";
import { memoryStore } from "../../web/wire/page-store.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { until } from "../support/until.ts";

let dev: Dev;
let dir: string;
const open: PageConnection[] = [];
const sockets = new Set<WebSocket>();

/** A browser's WebSocket with the page's origin. */
class PageSocket extends WebSocket {
  constructor(url: string) {
    super(url, { origin: dev.cloud.page });
    sockets.add(this);
    this.on("error", () => undefined);
    this.on("close", () => sockets.delete(this));
  }
}

async function startGateway(): Promise<void> {
  dev = await startDev({ dir });
  await dev.configuration.set("model", await dev.offlineModel());
}

beforeEach(async () => {
  dir = newFolder();
  await startGateway();
});
afterEach(async () => {
  for (const one of open.splice(0)) one.close();
  await dev.close();
});

function connect(auth: WireAuth, onToken?: (token: string) => void) {
  const connection = new PageConnection({
    ...{ url: dev.url, auth, onToken, version: "0", clientId: `web-${crypto.randomUUID().slice(0, 8)}` },
    Socket: PageSocket as unknown as SocketClass,
    // Node.js has no XMLHttpRequest.
    putFile: (url, file) => putBytes(url, file, "application/octet-stream"),
    timing: { minDelayMs: 10, maxDelayMs: 100, openMs: 5000, probeMs: 500 },
  });
  open.push(connection);
  connection.open();
  return connection;
}

const settled = (connection: PageConnection) =>
  until((): WireState | undefined => {
    const { state } = connection;
    return state.status === "connected" || state.status === "refused" ? state : undefined;
  }, "the connection is settled");

const code = async () => {
  const grant = { scopes: ["client" as const, "approve" as const], by: "test" };
  const { token } = await dev.createAdmin();
  grant.by = token.split("_")[1] ?? "";
  return createCode(dev.cloud.world.table, grant, { seconds: 60, hasShort: true }, Date.now());
};

describe("a page", () => {
  it("gets a token for a code, which is good once, and connects again with the token", async () => {
    const { code: once } = await code();
    let token = "";
    const first = connect({ code: once }, (given) => {
      token = given;
    });
    expect(await settled(first)).toMatchObject({
      status: "connected",
      hello: { scopes: ["client", "approve"] },
    });
    expect(token).toMatch(/^gsv_/);
    expect(await settled(connect({ code: once }))).toMatchObject({ status: "refused" });
    for (const socket of sockets) socket.terminate();
    await until(() => first.state.status !== "connected", "the loss is seen");
    expect(await settled(first)).toMatchObject({ status: "connected" });
    expect(await settled(connect({ token }))).toMatchObject({ status: "connected" });
  });

  it("sends params above 30 KB through the storage, and reads large answers from there", async () => {
    const connection = connect({ token: dev.token });
    await settled(connection);
    const content = "ä€😀 ".repeat(20_000);
    await connection.request("workspace.write", { path: "large.md", content });
    expect(await connection.request("workspace.read", { path: "large.md" })).toMatchObject({ content });
    expect([...sockets].every(({ readyState }) => readyState === WebSocket.OPEN)).toBe(true);
  });

  it("is refused for good with a token that was revoked, and says so", async () => {
    const { code: once } = await code();
    const connection = connect({ code: once });
    await settled(connection);
    const admin = connect({ token: (await dev.createAdmin()).token });
    await settled(admin);
    const { devices } = await admin.request("device.list", {});
    await admin.request("device.revoke", { id: devices[0]?.id ?? "" });
    await until(() => connection.state.status === "refused", "the device is signed out");
    expect(connection.state).toMatchObject({ reason: "this device was signed out" });
  });

  it("rejects requests without a connection as repeatable", async () => {
    const connection = connect({ token: dev.token });
    await settled(connection);
    connection.close();
    await expect(connection.request("tools.list")).rejects.toMatchObject({ code: 101, retryable: true });
  });
});

describe("the outbox", () => {
  const userTexts = (messages: readonly Message[]) =>
    messages.filter(({ role }) => role === "user").map((message) => textOf(message));

  it("sends what an earlier page has left, and keeps a refused message until the user decides", async () => {
    const store = memoryStore();
    const left = { runId: crypto.randomUUID(), sessionKey: "main", text: "left over", files: [], at: 1 };
    const refused = { runId: "x".repeat(200), sessionKey: "main", text: "refused", files: [], at: 2 };
    await store.put("outbox", left.runId, left);
    await store.put("outbox", refused.runId, refused);
    let unsent: OutboxMessage[] = [];
    const connection = connect({ token: dev.token });
    const outbox = new Outbox(connection, store, (messages) => {
      unsent = messages;
    });
    await until(() => unsent[0]?.refused !== undefined, "the second one is refused");
    expect(unsent).toMatchObject([{ text: "refused", refused: expect.stringContaining("runId") }]);
    await outbox.remove(refused.runId);
    expect(await store.all("outbox")).toEqual([]);
    const stored = await until(async () => {
      const { messages } = await connection.request("session.preview", { sessionKey: "main" });
      return messages.length > 0 && userTexts(messages);
    }, "the first one is stored");
    expect(stored).toEqual(["left over"]);
  });

  it("sends the files of a message with it", async () => {
    const connection = connect({ token: dev.token });
    let unsent: OutboxMessage[] = [{} as OutboxMessage];
    const outbox = new Outbox(connection, memoryStore(), (messages) => {
      unsent = messages;
    });
    const blob = new Blob(["col\n1\n"], { type: "text/csv" });
    await outbox.add("main", "look at this", [{ type: "document", filename: "a.csv", blob }]);
    await until(() => unsent.length === 0, "it is accepted");
    const stored = await until(async () => {
      const { messages } = await connection.request("session.preview", { sessionKey: "main" });
      return messages.length > 0 && JSON.stringify(messages);
    }, "it is stored");
    expect(stored).toContain("a.csv");
  });
});
