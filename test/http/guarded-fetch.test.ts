import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { serveLoopback } from "../../local/http/loopback.ts";
import { createGuardedFetch, nextHop } from "../../shared/http/guarded-fetch.ts";

interface Server {
  origin: string;
  port: string;
  /** Path and headers of every request. */
  requests: { path: string; headers: IncomingHttpHeaders }[];
  answer(path: string, response: ServerResponse): void;
  close(): Promise<void>;
}

async function startServer(): Promise<Server> {
  const { origin, close } = await serveLoopback((request, response) => {
    server.requests.push({ path: String(request.url), headers: request.headers });
    server.answer(String(request.url), response);
  });
  const server: Server = {
    origin,
    port: new URL(origin).port,
    requests: [],
    answer: (_path, response) => void response.writeHead(200, { "content-type": "image/png" }).end("bytes"),
    close,
  };
  return server;
}

let server: Server;
let other: Server;
beforeEach(async () => {
  [server, other] = await Promise.all([startServer(), startServer()]);
});
afterEach(() => Promise.all([server.close(), other.close()]));

/** A resolver by which every name has these addresses. */
function resolvesTo(...addresses: string[]) {
  const family = (address: string) => (address.includes(":") ? 6 : 4);
  return createGuardedFetch({
    resolve: (_name, _options, done) =>
      done(
        null,
        addresses.map((address) => ({ address, family: family(address) })),
      ),
  });
}

const redirectTo = (location: string, status = 302) => {
  server.answer = (_path, response) => void response.writeHead(status, { location }).end();
};
const trusted = () => ({ url: `${server.origin}/file`, trustedOrigins: [server.origin] });
const guardedFetch = createGuardedFetch();
const notPublic = { ok: false, reason: "not a public address", passing: false };

describe("the guarded fetch", () => {
  it("gives the bytes and their type, from an origin that is configured", async () => {
    expect(await guardedFetch({ ...trusted(), headers: { authorization: "Bearer x" } })).toEqual({
      ok: true,
      url: `${server.origin}/file`,
      body: Buffer.from("bytes"),
      contentType: "image/png",
    });
    expect(server.requests).toMatchObject([{ path: "/file", headers: { authorization: "Bearer x" } }]);
  });

  it.each([
    ["loopback", "127.0.0.1"],
    ["loopback by its name", "localhost"],
    ["a decimal form", "2130706433"],
    ["an octal form", "0177.0.0.1"],
    ["another octal form", "017700000001"],
    ["a hexadecimal form", "0x7f.0.0.1"],
    ["another hexadecimal form", "0x7f000001"],
    ["a short form", "127.1"],
    ["full-width digits", "１２７.０.０.１"],
    ["an encoded form", "%31%32%37.0.0.1"],
    ["IPv6 loopback", "[::1]"],
    ["mapped loopback", "[::ffff:127.0.0.1]"],
    ["mapped loopback in hexadecimal", "[::ffff:7f00:1]"],
    ["compatible loopback", "[::127.0.0.1]"],
    ["translated loopback", "[64:ff9b::7f00:1]"],
    ["6to4 of loopback", "[2002:7f00:1::]"],
    ["unspecified", "0.0.0.0"],
    ["unspecified, short", "0"],
    ["unspecified in IPv6", "[::]"],
  ])("does not connect to %s", async (_what, host) => {
    const fetched = await guardedFetch({ url: `https://${host}:${server.port}/` });
    expect(fetched).toEqual(notPublic);
    expect(server.requests).toEqual([]);
  });

  it.each([
    ["the metadata service", "169.254.169.254"],
    ["the metadata service in decimal", "2852039166"],
    ["the metadata service in IPv6", "[fd00:ec2::254]"],
    ["the credentials of a container", "169.254.170.2"],
    ["a private network", "10.0.0.7"],
    ["a carrier's network", "100.64.0.1"],
    ["link-local", "[fe80::1]"],
    ["multicast", "224.0.0.1"],
  ])("refuses %s before it connects", async (_what, host) => {
    expect(await guardedFetch({ url: `https://${host}/latest/meta-data/` })).toEqual(notPublic);
  });

  it.each([
    ["http", "http://media.example/a.png", "only https is allowed"],
    ["file", "file:///etc/passwd", "only https is allowed"],
    ["data", "data:text/plain,hi", "only https is allowed"],
    ["ftp", "ftp://media.example/a", "only https is allowed"],
    [
      "credentials in the address",
      "https://user:secret@media.example/",
      "an address with credentials is not allowed",
    ],
    ["an IPv6 zone", "https://[fe80::1%25eth0]/", "not a valid address"],
    ["what is no URL", "media.example/a.png", "not a valid address"],
  ])("refuses %s", async (_what, url, reason) => {
    expect(await resolvesTo("8.8.8.8")({ url })).toEqual({ ok: false, reason, passing: false });
  });
});

describe("a name", () => {
  it.each([
    ["a private address", ["127.0.0.1"]],
    ["a public and a private address", ["8.8.8.8", "127.0.0.1"]],
    ["a mapped address", ["::ffff:127.0.0.1"]],
    ["a zoned address", ["fe80::1%1"]],
    ["the metadata service", ["169.254.169.254"]],
    ["nothing", []],
  ])("that resolves to %s is refused", async (_what, addresses) => {
    const fetched = await resolvesTo(...addresses)({ url: `https://media.example:${server.port}/` });
    expect(fetched).toEqual(notPublic);
    expect(server.requests).toEqual([]);
  });

  it("is resolved once for a request: no second answer takes the place of the one that was checked", async () => {
    let asked = 0;
    const rebinding = createGuardedFetch({
      resolve: (_name, _options, done) => {
        asked++;
        done(null, [{ address: asked === 1 ? "10.0.0.1" : "127.0.0.1", family: 4 }]);
      },
    });
    expect(await rebinding({ url: `https://media.example:${server.port}/` })).toEqual(notPublic);
    expect(asked).toBe(1);
    expect(server.requests).toEqual([]);
  });

  it("that cannot be resolved may be there later", async () => {
    const error = Object.assign(new Error("getaddrinfo ENOTFOUND media.example"), { code: "ENOTFOUND" });
    const failing = createGuardedFetch({ resolve: (_name, _options, done) => done(error, []) });
    const reason = "no connection (ENOTFOUND)";
    expect(await failing({ url: "https://media.example/" })).toEqual({ ok: false, reason, passing: true });
  });
});

describe("a redirect", () => {
  it.each([
    ["loopback", () => `https://127.0.0.1:${other.port}/`, "not a public address"],
    ["plain http", () => `http://127.0.0.1:${other.port}/`, "only https is allowed"],
    ["a name of loopback", () => `https://localhost:${other.port}/`, "not a public address"],
    ["a decimal form", () => `https://2130706433:${other.port}/`, "not a public address"],
    ["the metadata service", () => "https://169.254.169.254/", "not a public address"],
    ["a file", () => "file:///etc/passwd", "only https is allowed"],
    ["nothing that is an address", () => "https://", "not a valid address"],
  ])("to %s is refused, also from an origin that is configured", async (_what, location, reason) => {
    redirectTo(location());
    expect(await guardedFetch(trusted())).toEqual({ ok: false, reason, passing: false });
    expect(other.requests).toEqual([]);
  });

  it("is followed within its origin, with the credentials", async () => {
    server.answer = (path, response) =>
      void (path === "/file" ? response.writeHead(307, { location: "/moved" }) : response).end("moved");
    const fetched = await guardedFetch({ ...trusted(), headers: { authorization: "Bearer x" } });
    expect(fetched).toMatchObject({ ok: true, body: Buffer.from("moved") });
    expect(server.requests.at(-1)).toMatchObject({ path: "/moved", headers: { authorization: "Bearer x" } });
  });

  it("to another origin takes no credentials along, nor back again", async () => {
    server.answer = (path, response) =>
      void (path === "/file" ? response.writeHead(302, { location: other.origin }) : response).end();
    other.answer = (_path, response) =>
      void response.writeHead(302, { location: `${server.origin}/back` }).end();
    const fetched = await guardedFetch({
      ...trusted(),
      trustedOrigins: [server.origin, other.origin],
      headers: { authorization: "Bearer x" },
    });
    expect(fetched).toMatchObject({ ok: true });
    expect(other.requests).toHaveLength(1);
    expect(other.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(server.requests.at(-1)?.path).toBe("/back");
    expect(server.requests.at(-1)?.headers).not.toHaveProperty("authorization");
  });

  it("is no way into an origin that is configured, from one that is not", () => {
    const configured = "http://10.0.0.7:8081";
    const at = (url: string, isTrusted: boolean) => ({ url: new URL(url), headers: {}, isTrusted });
    const own = nextHop(at(configured, true), "/file", [configured]);
    expect(own).toMatchObject({ isTrusted: true });
    for (const from of [at("https://media.example/", false), at(configured, false)])
      expect(() => nextHop(from, `${configured}/`, [configured])).toThrow("only https is allowed");
    const left = nextHop(own, "https://media.example/", [configured]);
    expect(() => nextHop(left, `${configured}/`, [configured])).toThrow("only https is allowed");
  });

  it("is followed five times, and no more", async () => {
    redirectTo("/file");
    const fetched = await guardedFetch(trusted());
    expect(fetched).toEqual({ ok: false, reason: "too many redirects", passing: false });
    expect(server.requests).toHaveLength(6);
  });
});

describe("a body", () => {
  const maxBytes = 1024 * 1024;

  it("that is compressed, although no compression was asked for, is not read", async () => {
    server.answer = (_path, response) =>
      void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(maxBytes)));
    const reason = "answered with compressed data, which was not asked for";
    expect(await guardedFetch(trusted())).toEqual({ ok: false, reason, passing: false });
    expect(server.requests[0]?.headers["accept-encoding"]).toBe("identity");
  });

  it("is read no further when the fetch is stopped", async () => {
    const controller = new AbortController();
    server.answer = (_path, response) => {
      response.writeHead(200).write("x");
      controller.abort();
    };
    const fetched = await guardedFetch({ ...trusted(), signal: controller.signal });
    expect(fetched).toEqual({ ok: false, reason: "it was stopped", passing: true });
  });

  it("that says to be too large is not read", async () => {
    server.answer = (_path, response) => {
      response.writeHead(200, { "content-length": maxBytes + 1 });
      response.write("x");
    };
    const fetched = await guardedFetch({ ...trusted(), maxBytes });
    expect(fetched).toEqual({ ok: false, reason: "larger than 1 MB", passing: false });
  });

  it("that grows too large is read no further", async () => {
    let isOpen = true;
    server.answer = (_path, response) => {
      response.on("close", () => (isOpen = false));
      const more = () => void (isOpen && response.write(Buffer.alloc(64 * 1024), () => setImmediate(more)));
      more();
    };
    const fetched = await guardedFetch({ ...trusted(), maxBytes });
    expect(fetched).toEqual({ ok: false, reason: "larger than 1 MB", passing: false });
    await expect.poll(() => isOpen).toBe(false);
  });

  it("of exactly the limit is taken", async () => {
    server.answer = (_path, response) => void response.end(Buffer.alloc(maxBytes));
    expect(await guardedFetch({ ...trusted(), maxBytes })).toMatchObject({ ok: true });
  });

  it("that does not come to its end in time is given up", async () => {
    server.answer = (_path, response) => void response.write("x");
    const fetched = await guardedFetch({ ...trusted(), timeoutMs: 50 });
    expect(fetched).toEqual({ ok: false, reason: "no answer within 0.05 s", passing: true });
  });

  it("that breaks off is a failure that may pass", async () => {
    server.answer = (_path, response) => {
      response.writeHead(200, { "content-length": 10 });
      response.write("x", () => response.destroy());
    };
    expect(await guardedFetch(trusted())).toMatchObject({ ok: false, passing: true });
  });

  it.each([
    [404, false],
    [401, false],
    [304, false],
    [429, true],
    [503, true],
  ])("of an answer with %i is none", async (status, passing) => {
    server.answer = (_path, response) => void response.writeHead(status).end("a page");
    const reason = `answered with ${status}`;
    expect(await guardedFetch(trusted())).toEqual({ ok: false, reason, passing });
  });
});
