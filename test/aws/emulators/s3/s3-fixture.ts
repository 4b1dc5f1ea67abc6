import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { clientConfig, startS3At } from "../support.ts";
import type { S3Options, S3Server } from "./s3-server.ts";

export const Bucket = "gsv-storage";

/** A server on a folder of its own, with nothing else beside it, and the real client for it. */
export class S3Fixture {
  dir = "";
  authorize: S3Options["authorize"];
  declare server: S3Server;
  declare client: S3Client;

  async start(): Promise<void> {
    this.dir ||= join(await mkdtemp(join(tmpdir(), "gsv-s3-")), "storage");
    const authorize =
      this.authorize &&
      ((call: Parameters<NonNullable<S3Options["authorize"]>>[0]) => this.authorize?.(call));
    this.server = await startS3At({ dir: this.dir, buckets: [Bucket, "other-bucket"], authorize });
    this.client = new S3Client({ ...clientConfig(this.server.url), maxAttempts: 1 });
  }

  /** Stops, and keeps the folder. */
  async stop(): Promise<void> {
    this.client.destroy();
    await this.server.close();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async end(): Promise<void> {
    await this.stop();
    await rm(dirname(this.dir), { recursive: true, force: true });
  }

  async put(Key: string, Body: string | Uint8Array = "x"): Promise<string> {
    return (await this.client.send(new PutObjectCommand({ Bucket, Key, Body }))).ETag ?? "";
  }

  async get(Key: string): Promise<string> {
    const { Body } = await this.client.send(new GetObjectCommand({ Bucket, Key }));
    return (await Body?.transformToString()) ?? "";
  }

  /** Names of files in the staging folder: none, when no write is under way. */
  async staged(): Promise<string[]> {
    return readdir(join(this.dir, ".staging"));
  }

  /** Bytes that wait in the staging folder. */
  async stagedBytes(): Promise<number> {
    const files = await Promise.all(
      (await this.staged()).map((name) => stat(join(this.dir, ".staging", name))),
    );
    return files.reduce((sum, { size }) => sum + size, 0);
  }

  /** Options of `node:http` for a request to one key, on a connection of its own. */
  target(method: string, key: string) {
    return {
      host: "127.0.0.1",
      port: this.server.port,
      method,
      path: `/${Bucket}/${key}`,
      agent: false,
    } as const;
  }

  /** A request made by hand, signed as far as the server looks. */
  async raw(method: string, path: string, headers: Record<string, string> = {}, body: string | Buffer = "") {
    return rawRequest(this.server.port, method, path, { ...signed, ...headers }, body);
  }
}

/** What makes a request look signed. */
export const signed = {
  authorization: "AWS4-HMAC-SHA256 Credential=LOCALTEST/20300101/us-east-1/s3/aws4_request, Signature=0",
};

export type RawAnswer = {
  status: number;
  headers: Record<string, unknown>;
  text: string;
  code: string | undefined;
};

/** A request by `node:http`, which sends any path and header as they are. `code` is the error code in the body. */
export function rawRequest(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string | Buffer = "",
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: "127.0.0.1", port, method, path, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          const code = /<Code>(.*?)<\/Code>/.exec(text)?.[1];
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, code });
        });
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

/** What the promise rejects with, reduced to what the SDK tells a caller of an error. */
export async function failure(
  promise: Promise<unknown>,
): Promise<{ name: string; status: number | undefined }> {
  try {
    await promise;
  } catch (error) {
    const { name, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } };
    return { name, status: $metadata?.httpStatusCode };
  }
  throw new Error("it did not fail");
}
