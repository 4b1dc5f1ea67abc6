import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { createPageHandler, type PageAnswer } from "../../functions/page/page-handler.ts";
import { bundlePage } from "../../shared/build/page-bundle.mjs";
import { newFolder } from "../support/run/test-folders.ts";

const folder = join(newFolder(), "page");
const addresses = { ws: "wss://abc.execute-api.eu-west-1.amazonaws.com/ws", objects: "https://b.s3.example" };
const handler = createPageHandler(async () => folder, addresses);

const context = { awsRequestId: "r" } as never;
function ask(rawPath: string, headers: Record<string, string> = {}, method = "GET"): Promise<PageAnswer> {
  return handler({ rawPath, headers, requestContext: { http: { method } } } as never, context);
}

const bodyOf = ({ body }: PageAnswer) => Buffer.from(body, "base64");
let scriptPath: string;

beforeAll(async () => {
  await bundlePage(esbuild, process.cwd(), folder);
  const html = readFileSync(join(folder, "index.html"), "utf8");
  scriptPath = /src="([^"]+)"/.exec(html)?.[1] ?? "";
});

describe("the page function", () => {
  it("serves the page, to be asked for again each time, and its scripts to be kept", async () => {
    const page = await ask("/");
    expect(page).toMatchObject({
      statusCode: 200,
      headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" },
    });
    const script = await ask(scriptPath);
    expect(script).toMatchObject({
      statusCode: 200,
      headers: {
        "content-type": "text/javascript; charset=utf-8",
        "cache-control": "public, max-age=31536000, immutable",
      },
    });
    expect(bodyOf(script)).toEqual(readFileSync(join(folder, scriptPath)));
  });

  it("serves what an app on a home screen needs: its manifest and, for an iPhone, a picture", async () => {
    const html = String(bodyOf(await ask("/")));
    const types: Record<string, string> = {
      manifest: "application/manifest+json",
      "apple-touch-icon": "image/png",
    };
    for (const [rel, type] of Object.entries(types)) {
      const path = new RegExp(`<link rel="${rel}" href="([^"]+)"`).exec(html)?.[1] ?? "";
      expect(await ask(path), rel).toMatchObject({ statusCode: 200, headers: { "content-type": type } });
    }
  });

  it("sends the smallest encoding that the browser accepts", async () => {
    const plain = bodyOf(await ask(scriptPath));
    const br = await ask(scriptPath, { "accept-encoding": "gzip, deflate, br, zstd" });
    expect(br.headers["content-encoding"]).toBe("br");
    expect(brotliDecompressSync(bodyOf(br))).toEqual(plain);
    const gzip = await ask(scriptPath, { "accept-encoding": "gzip" });
    expect(gzip.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(bodyOf(gzip))).toEqual(plain);
  });

  it("answers 304 to the tag of the same content", async () => {
    const { headers } = await ask("/");
    expect(await ask("/", { "if-none-match": headers.etag ?? "" })).toMatchObject({
      statusCode: 304,
      body: "",
    });
    expect(await ask("/", { "if-none-match": '"other"' })).toMatchObject({ statusCode: 200 });
  });

  it("says where the gateway is, and nobody may keep that", async () => {
    const answer = await ask("/gateway.json");
    expect(JSON.parse(answer.body)).toEqual({ ws: addresses.ws, version: expect.stringMatching(/^\d/) });
    expect(answer.headers["cache-control"]).toBe("no-store");
  });

  it("refuses other paths, also those that leave its folder, and other methods", async () => {
    for (const path of ["/nothing", "/../handler.mjs", "/index.html.br", "//", "/constructor"])
      expect(await ask(path)).toMatchObject({ statusCode: 404 });
    expect(await ask("/", {}, "POST")).toMatchObject({ statusCode: 405 });
  });

  it("sends the same protecting headers with every answer", async () => {
    const answers = await Promise.all([ask("/"), ask("/nothing"), ask("/gateway.json"), ask("/", {}, "PUT")]);
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cross-origin-opener-policy": "same-origin",
      });
      const policy = headers["content-security-policy"]?.split("; ");
      expect(policy).toEqual(
        expect.arrayContaining([
          "default-src 'none'",
          "script-src 'self'",
          "style-src 'self'",
          "connect-src 'self' wss://abc.execute-api.eu-west-1.amazonaws.com https://b.s3.example",
          "frame-ancestors 'none'",
          "require-trusted-types-for 'script'",
        ]),
      );
      expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*/);
    }
  });

  it("reads the folder again after it could not be read", async () => {
    let isBroken = true;
    const broken = createPageHandler(async () => (isBroken ? join(folder, "absent") : folder), addresses);
    const request = { rawPath: "/", headers: {}, requestContext: { http: { method: "GET" } } } as never;
    expect(await broken(request, context)).toMatchObject({ statusCode: 500 });
    isBroken = false;
    expect(await broken(request, context)).toMatchObject({ statusCode: 200 });
  });
});

describe("the page", () => {
  const names = () => readdirSync(folder).filter((name) => !/\.(br|gz)$/.test(name));
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  const sizeOf = (files: Iterable<string>) =>
    [...files].reduce((bytes, name) => bytes + readFileSync(join(folder, `${name}.gz`)).byteLength, 0);
  /** The scripts, and all that they import statically. */
  const withImports = (scripts: string[]) => {
    const found = new Set(scripts);
    for (const name of found)
      for (const [, imported] of read(name).matchAll(/(?:from|import)"\.\/([^"]+)"/g))
        found.add(String(imported));
    return found;
  };
  const firstFiles = () => {
    const views = names().filter((name) => name.startsWith("chunk-"));
    const others = names().filter((name) => !views.includes(name));
    const scripts = withImports(others.filter((name) => name.startsWith("page-")));
    return new Set([...others, ...scripts]);
  };

  it("loads at most 60 KB before it is usable, and is 220 KB in all", () => {
    expect(firstFiles().size).toBeGreaterThan(5);
    expect(sizeOf(firstFiles())).toBeLessThanOrEqual(60 * 1024);
    expect(sizeOf(names())).toBeLessThanOrEqual(220 * 1024);
  });

  it("is not built when its first load is too large", async () => {
    const named = names().filter((name) => read("index.html").includes(`"/${name}"`));
    const first = sizeOf([...named, "index.html"]);
    const build = (maxBytes: number) =>
      bundlePage(esbuild, process.cwd(), join(newFolder(), "page"), maxBytes);
    await expect(build(first - 1)).rejects.toThrow(`the page's first load has ${first} bytes`);
    await expect(build(first)).resolves.toContain("web/main.tsx");
  });

  it("loads at most 15 KB for a view, and 25 KB for the colours of code", () => {
    const first = firstFiles();
    const loaded = names().filter((name) => /^chunk-(?!chunk-).*\.js$/.test(name));
    expect(loaded.length).toBeGreaterThan(1);
    for (const name of loaded) {
      const added = [...withImports([name])].filter((one) => !first.has(one));
      const max = name.startsWith("chunk-code-colours-") ? 25 : 15;
      expect([name, added.includes(name), sizeOf(added) <= max * 1024]).toEqual([name, true, true]);
    }
  });

  it("names all scripts of its first load, so that the browser fetches them at once", () => {
    const scripts = [...firstFiles()].filter((name) => name.endsWith(".js") && name !== "sw.js");
    expect(scripts.length).toBeGreaterThan(1);
    for (const name of scripts) expect(read("index.html")).toContain(`"/${name}"`);
  });

  it("connects by a script that needs no other, and is small enough to arrive first", () => {
    const [first] = [...read("index.html").matchAll(/src="\/([^"]+)"/g)].map(([, name]) => String(name));
    const script = read(String(first));
    expect(script).toContain("WebSocket");
    expect(script).not.toMatch(/\bimport\b/);
    expect(sizeOf([String(first)])).toBeLessThanOrEqual(5 * 1024);
  });

  it("keeps every file for a start without a connection", () => {
    const kept = names().filter((name) => name !== "sw.js" && name !== "index.html");
    for (const name of kept) expect(read("sw.js")).toContain(`"/${name}"`);
  });

  it("names no address but its own", () => {
    const html = readFileSync(join(folder, "index.html"), "utf8");
    const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = ""]) => address);
    expect(addresses.length).toBeGreaterThan(3);
    const icon = `data:image/svg+xml,${encodeURIComponent(read("icon.svg"))}`;
    const served = new Set([...names().map((name) => `/${name}`), "/gateway.json"]);
    expect(addresses.filter((address) => !served.has(address))).toEqual([icon]);
  });
});
