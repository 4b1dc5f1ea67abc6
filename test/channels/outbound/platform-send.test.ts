import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Channel, ChannelAccount } from "../../../shared/channels/channel.ts";
import { type ChannelName, channels } from "../../../shared/channels/channels.ts";

const token = "a-token-that-nobody-sees";
const peers: Record<string, string> = {
  telegram: "5001002003",
  slack: "D024BE91L",
  whatsapp: "16505551234",
  discord: "645027906669510667",
} satisfies Record<ChannelName, string>;
const own: Record<string, string> = {
  telegram: `https://api.telegram.org/bot${token}/sendMessage`,
  slack: "https://slack.com/api/chat.postMessage",
  whatsapp: "https://graph.facebook.com/v25.0/106540352242922/messages",
  discord: "https://discord.com/api/v10/channels/645027906669510667/messages",
} satisfies Record<ChannelName, string>;

const accountAt = (apiBaseUrl: string | undefined): ChannelAccount => ({
  accountId: "default",
  settings: { apiBaseUrl, phoneNumberId: "106540352242922", applicationId: "1", publicKey: "" },
  secrets: { botToken: token, accessToken: token },
});

afterEach(() => {
  vi.unstubAllGlobals();
});

describe.each(Object.entries(channels))("sending on %s", (name, channel) => {
  const send = (account: ChannelAccount, context?: Record<string, string>) =>
    channel.send(account, {
      peer: { kind: "dm", id: peers[name] ?? "" },
      text: "hi",
      replyToId: "3",
      context,
    });

  it("uses the platform's own servers unless another URL is configured", async () => {
    const asked: string[] = [];
    vi.stubGlobal("fetch", async (url: string) => {
      asked.push(url);
      const body = { ok: true, result: { message_id: 4 }, ts: "4", messages: [{ id: "4" }], id: "4" };
      return Response.json(body);
    });
    expect(await send(accountAt(undefined))).toEqual({ status: "sent", messageId: "4" });
    expect(asked).toEqual([own[name]]);
  });

  it("does not follow a redirect with the token", async () => {
    const there: string[] = [];
    const target = createServer((request, response) => {
      there.push(request.url ?? "");
      response.end("{}");
    });
    const location = await listen(target);
    const page = createServer((_request, response) => response.writeHead(307, { location }).end());
    const outcome = await send(accountAt(await listen(page)));
    expect(outcome.status).toBe("failed");
    expect(there).toEqual([]);
    close(target, page);
  });

  it("can be retried without a connection, an answer in time, or a valid answer", async () => {
    const page = createServer((_request, response) =>
      response.writeHead(503).end("<html>maintenance</html>"),
    );
    const url = await listen(page);
    expect(await send(accountAt(url))).toMatchObject({
      status: "retry",
      reason: expect.stringMatching(/^503 /),
    });
    close(page);
    expect(await send(accountAt(url))).toEqual({ status: "retry", reason: "no connection (ECONNREFUSED)" });
    expect(await send(accountAt("not a url"))).toMatchObject({
      status: "retry",
      reason: "no connection (ERR_INVALID_URL)",
    });
    const timeouts = shortTimeouts();
    const silent = createServer(() => {});
    const silentUrl = await listen(silent);
    const interaction = { interactionToken: "t", receivedAt: String(Date.now()) };
    for (const context of [undefined, interaction])
      expect(await send(accountAt(silentUrl), context)).toEqual({
        status: "retry",
        reason: "no answer within 10 s",
      });
    expect(new Set(timeouts)).toEqual(new Set([10_000]));
    close(silent);
  });

  it("never reveals the token, whatever the platform answers", async () => {
    const said = { ok: false, error: token, description: token, message: `a ${token} b` };
    for (const body of [said, { error: { code: 1, message: token } }]) {
      const page = createServer((_request, response) => response.writeHead(400).end(JSON.stringify(body)));
      expect(JSON.stringify(await send(accountAt(await listen(page))))).not.toContain(token);
      close(page);
    }
  });

  it("shows a typing indicator without ever failing", async () => {
    const typing = (over: Channel) =>
      over.typing(accountAt("http://127.0.0.1:1"), { peer: { kind: "dm", id: "1" }, replyToId: "3" });
    await expect(typing(channel)).resolves.toBeUndefined();
  });
});

/** The platform's clock: the timeout's own, moved forward. @returns the requested time */
function shortTimeouts(): number[] {
  const asked: number[] = [];
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  vi.stubGlobal("AbortSignal", {
    timeout: (ms: number) => {
      asked.push(ms);
      return timeout(20);
    },
  });
  return asked;
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function close(...servers: Server[]): void {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
}
