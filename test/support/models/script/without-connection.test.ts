import { afterEach, describe, expect, it } from "vitest";
import { fetchOverSockets } from "../../run/in-process-fetch.ts";
import { startOpenAiServer } from "../openai-server.ts";
import type { ModelServer, Reply, Script } from "../scripted-model.ts";

let server: ModelServer;
afterEach(() => server.close());

async function serving(script: Script): Promise<(over: typeof fetch, init?: object) => Promise<Response>> {
  server = await startOpenAiServer(script);
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "hello" }], stream: true });
  const headers = { authorization: "Bearer k", "content-type": "application/json" };
  return (over, init) => over(`${server.url}/chat/completions`, { method: "POST", headers, body, ...init });
}

/** What a client sees, without the ids that are made up. */
async function shown(response: Response) {
  const { status, headers } = response;
  const text = (await response.text()).replace(/(chatcmpl-|call_)\w+/g, "$1").replace(/"created":\d+/g, "");
  return { status, type: headers.get("content-type"), id: headers.get("x-request-id")?.slice(0, 4), text };
}

describe("a request that makes no connection", () => {
  const replies: Record<string, Reply> = {
    "an answer": { text: "Once upon a time", thinking: "hm", usage: { output: 3 } },
    "tool calls": { toolCalls: [{ name: "look", arguments: { path: "a" } }] },
    "an error": { error: { status: 429, message: "slow down", headers: { "retry-after": "1" } } },
    "an error in mid-stream": { text: "Once upon", streamError: { afterPieces: 1, message: "overloaded" } },
  };

  it.each(Object.entries(replies))("is answered as over one: %s", async (_what, reply) => {
    const ask = await serving(() => reply);
    const [here, there] = [await shown(await ask(fetch)), await shown(await ask(fetchOverSockets))];
    expect(here).toEqual(there);
    const [first, second] = server.requests;
    expect(first).toEqual({ ...second, headers: expect.objectContaining({ authorization: "Bearer k" }) });
    expect([first?.headers.host, second?.headers.host]).toEqual([undefined, new URL(server.url).host]);
  });

  it("is refused as over one", async () => {
    const ask = await serving([]);
    for (const init of [{ body: "{" }, { headers: {} }, { method: "PUT" }, { body: '{"model":"\\ud800"}' }]) {
      const [here, there] = [
        await shown(await ask(fetch, init)),
        await shown(await ask(fetchOverSockets, init)),
      ];
      expect(here.status).toBeGreaterThanOrEqual(400);
      expect(here).toEqual(there);
    }
  });

  it("ends with its signal, and counts as a client that went away", async () => {
    const ask = await serving(() => new Promise(() => {}));
    const ending = new AbortController();
    const asked = ask(fetch, { signal: ending.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    expect([server.active(), server.aborted()]).toEqual([1, 0]);
    ending.abort();
    await expect(asked).rejects.toMatchObject({ name: "AbortError" });
    expect([server.active(), server.aborted()]).toEqual([0, 1]);
    await expect(ask(fetch, { signal: ending.signal })).rejects.toMatchObject({ name: "AbortError" });
    expect(server.requests).toHaveLength(1);
  });

  it("breaks when the server is closed, and finds nobody afterwards", async () => {
    const ask = await serving(() => new Promise(() => {}));
    const asked = ask(fetch);
    await expect.poll(() => server.requests.length).toBe(1);
    await Promise.all([
      expect(asked).rejects.toMatchObject({ cause: { code: "ECONNRESET" } }),
      server.close(),
    ]);
    await expect(ask(fetch)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });

  it.each<Reply>([{ hang: true }, { text: "a b c d", hang: true }, { text: "a b c d", cutAfterChunks: 2 }])(
    "makes one for an answer that plays with it: %o",
    async (reply) => {
      const ask = await serving([reply]);
      const ending = new AbortController();
      const response = ask(fetch, { signal: ending.signal });
      const failed = expect(response.then((one) => one.text())).rejects.toThrow(
        reply.hang ? /abort/ : /terminated/,
      );
      await expect.poll(() => server.requests.length).toBe(1);
      if (reply.hang) {
        await expect.poll(() => server.active()).toBe(1);
        ending.abort();
      }
      await failed;
      await expect.poll(() => server.active()).toBe(0);
      expect([server.requests.length, server.aborted()]).toEqual([1, reply.hang ? 1 : 0]);
    },
  );
});
