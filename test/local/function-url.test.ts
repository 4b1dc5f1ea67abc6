import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { startFunctionUrl } from "../../local/http/function-url.ts";
import type { Endpoint } from "../../local/http/http-endpoint.ts";

let url: Endpoint;
let events: Record<string, unknown>[];
let errors: unknown[];

async function start(answer: (event: object) => unknown = () => ({ statusCode: 200 })) {
  events = [];
  errors = [];
  url = await startFunctionUrl({
    invoke: async (event) => {
      events.push(event as Record<string, unknown>);
      return answer(event);
    },
    onError: (error) => errors.push(error),
  });
}

afterEach(() => url.close());

describe("the function URL", () => {
  it("turns a request into an event in payload format 2.0", async () => {
    await start();
    await fetch(`${url.url}/telegram/my%20bot?a=1&a=2&b=x%20y`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-Secret": "s",
        Cookie: "c1=1; c2=2",
        "User-Agent": "test",
      },
      body: '{"text":"ä"}',
    });
    expect(events[0]).toMatchObject({
      version: "2.0",
      routeKey: "$default",
      rawPath: "/telegram/my bot",
      rawQueryString: "a=1&a=2&b=x%20y",
      queryStringParameters: { a: "1,2", b: "x y" },
      cookies: ["c1=1", "c2=2"],
      headers: { "x-secret": "s", "content-type": "application/json" },
      body: '{"text":"ä"}',
      isBase64Encoded: false,
      requestContext: {
        accountId: "anonymous",
        stage: "$default",
        http: { method: "POST", path: "/telegram/my%20bot", protocol: "HTTP/1.1", userAgent: "test" },
      },
    });
  });

  it("hands over anything but text as base64", async () => {
    await start();
    const bytes = Buffer.from([0, 255, 1]);
    for (const type of ["application/octet-stream", "application/x-www-form-urlencoded", "image/png"]) {
      await fetch(url.url, { method: "POST", headers: { "content-type": type }, body: bytes });
      expect(events.at(-1)).toMatchObject({ body: bytes.toString("base64"), isBase64Encoded: true });
    }
    await fetch(url.url);
    expect(events.at(-1)).toMatchObject({ isBase64Encoded: false });
    expect(events.at(-1)).not.toHaveProperty("body");
  });

  it("answers with the function's status, headers, cookies and body", async () => {
    await start(() => ({
      statusCode: 201,
      headers: { "Content-Type": "text/plain", "X-One": 1 },
      cookies: ["a=1", "b=2"],
      body: "bytes",
    }));
    const answer = await fetch(url.url);
    expect(answer.status).toBe(201);
    expect(answer.headers.get("content-type")).toBe("text/plain");
    expect(answer.headers.get("x-one")).toBe("1");
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await answer.text()).toBe("bytes");
    await url.close();
    await start(() => ({ statusCode: 200, isBase64Encoded: true, body: "AP8=" }));
    expect(Buffer.from(await (await fetch(url.url)).arrayBuffer())).toEqual(Buffer.from([0, 255]));
  });

  it("takes a result without a status for the body of a 200", async () => {
    const results: [unknown, string][] = [
      [{ ok: true }, '{"ok":true}'],
      ["plain", "plain"],
      [null, "null"],
    ];
    for (const [result, text] of results) {
      await start(() => result);
      const answer = await fetch(url.url);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(await answer.text()).toBe(text);
      await url.close();
    }
    await start();
  });

  it("answers 502 when the function fails, or answers with nonsense or too much", async () => {
    const answers = [
      () => Promise.reject(new Error("as told")),
      () => ({ statusCode: "many" }),
      () => ({ statusCode: 200, headers: { "bad header": "x" } }),
      () => ({ statusCode: 200, body: "x".repeat(6 * 1024 * 1024 + 1) }),
    ];
    for (const answer of answers) {
      await start(answer);
      expect((await fetch(url.url)).status).toBe(502);
      expect(errors).toHaveLength(1);
      await url.close();
    }
    await start();
  });

  it("takes 6 MB and refuses more with 413, before the function runs", async () => {
    await start();
    const body = Buffer.alloc(6 * 1024 * 1024);
    expect((await fetch(url.url, { method: "POST", body })).status).toBe(200);
    const larger = Buffer.alloc(body.length + 1);
    expect((await fetch(url.url, { method: "POST", body: larger })).status).toBe(413);
    expect(events).toHaveLength(1);
  });

  it("goes on after a body that is aborted and after garbage", async () => {
    await start();
    for (const text of [
      "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf",
      "\x16\x03garbage\r\n\r\n",
    ]) {
      await new Promise((resolve) => {
        const socket = connect(url.port, "127.0.0.1", () =>
          socket.write(text, () => socket.resetAndDestroy()),
        );
        socket.on("error", () => undefined);
        socket.on("close", resolve);
      });
    }
    expect((await fetch(`${url.url}/%zz`)).status).toBe(200);
    expect(events).toHaveLength(1);
  });
});
