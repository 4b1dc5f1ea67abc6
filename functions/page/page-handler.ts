import type { APIGatewayProxyEventV2 } from "aws-lambda";
import manifest from "../../package.json" with { type: "json" };
import { wrapHandler } from "../../shared/runtime/handler.ts";
import { type PageFile, servePageFiles } from "./page-files.ts";
import { type PageAddresses, pageHeaders } from "./page-headers.ts";

/** An answer in payload format 2.0. */
export interface PageAnswer {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
  isBase64Encoded?: boolean;
}

type PageRequest = Pick<APIGatewayProxyEventV2, "rawPath" | "headers" | "requestContext">;

/**
 * The page function's handler. It serves the files of one folder and `/gateway.json`, which has the address of the gateway:
 * no part of the page's own address names a gateway.
 * @param openFolder returns the folder with the page's files. Called at the first request for a file, and again after it has failed.
 */
export function createPageHandler(openFolder: () => Promise<string>, addresses: PageAddresses) {
  const headers = pageHeaders(addresses);
  const gateway = JSON.stringify({ ws: addresses.ws, version: manifest.version });
  const fileAt = servePageFiles(openFolder);
  const text = (statusCode: number, body: string, type = "text/plain; charset=utf-8"): PageAnswer => ({
    statusCode,
    headers: { ...headers, "content-type": type, "cache-control": "no-store" },
    body,
  });
  return wrapHandler<PageRequest, PageAnswer>(
    "page",
    async ({ rawPath, headers: asked, requestContext }) => {
      const { method } = requestContext.http;
      if (method !== "GET" && method !== "HEAD") return text(405, "the page is only read\n");
      if (rawPath === "/gateway.json") return text(200, gateway, "application/json");
      const file = await fileAt(rawPath === "/" ? "/index.html" : rawPath);
      if (!file) return text(404, "there is no such file\n");
      return fileAnswer(file, asked, headers);
    },
    {
      fields: ({ rawPath }) => ({ path: rawPath.slice(0, 100) }),
      onError: () => text(500, "the page cannot be read\n"),
    },
  );
}

function fileAnswer(
  file: PageFile,
  asked: PageRequest["headers"],
  headers: Record<string, string>,
): PageAnswer {
  const { type, etag, isImmutable } = file;
  const caching = {
    ...headers,
    etag,
    vary: "accept-encoding",
    "cache-control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
  };
  if (asked["if-none-match"] === etag) return { statusCode: 304, headers: caching, body: "" };
  const accepted = (asked["accept-encoding"] ?? "").split(/[\s,]+/);
  const encoding = (["br", "gzip"] as const).find((one) => accepted.includes(one));
  return {
    statusCode: 200,
    headers: { ...caching, "content-type": type, ...(encoding ? { "content-encoding": encoding } : {}) },
    body: file[encoding ?? "identity"].toString("base64"),
    isBase64Encoded: true,
  };
}
