import type { IncomingMessage } from "node:http";
import type { Answer, FakeCall, FakeState } from "./fake-services.ts";

const xml = (body: string, status = 200): Answer => ({ status, type: "application/xml", body });

/** The operations of S3 on a bucket. */
const operations: Record<string, (account: FakeState, bucket: string, input: Input) => Answer> = {
  HeadBucket: () => xml(""),
  ListObjectVersions: (account, bucket, { query }) => {
    const { items, next } = account.page(
      [...versionsOf(account, bucket)],
      query.get("key-marker") ?? undefined,
    );
    const found = items.map((one, index) => {
      const [key, version] = one.split("@");
      const tag = index % 2 === 0 ? "Version" : "DeleteMarker";
      return `<${tag}><Key>${key}</Key><VersionId>${version}</VersionId></${tag}>`;
    });
    const more = next
      ? `<IsTruncated>true</IsTruncated><NextKeyMarker>${next}</NextKeyMarker><NextVersionIdMarker>-</NextVersionIdMarker>`
      : "<IsTruncated>false</IsTruncated>";
    return xml(`<ListVersionsResult>${found.join("")}${more}</ListVersionsResult>`);
  },
  DeleteObjects: (account, bucket, { body }) => {
    for (const [, key, version] of body.matchAll(/<Key>(.*?)<\/Key><VersionId>(.*?)<\/VersionId>/g))
      versionsOf(account, bucket).delete(`${key}@${version}`);
    return xml("<DeleteResult></DeleteResult>");
  },
  DeleteBucket: (account, bucket) => {
    if (versionsOf(account, bucket).size > 0) return xml("<Error><Code>BucketNotEmpty</Code></Error>", 409);
    account.buckets.delete(bucket);
    return xml("", 204);
  },
  PutBucketCors: (account, bucket, { body }) => {
    account.cors.set(bucket, /<AllowedOrigin>(.*?)<\/AllowedOrigin>/.exec(body)?.[1] ?? "");
    return xml("");
  },
};

interface Input {
  query: URLSearchParams;
  body: string;
}

function versionsOf(account: FakeState, bucket: string): Set<string> {
  return account.buckets.get(bucket) ?? new Set();
}

function operationOf(method: string | undefined, query: URLSearchParams): string {
  if (method === "HEAD") return "HeadBucket";
  if (method === "GET" && query.has("versions")) return "ListObjectVersions";
  if (method === "POST" && query.has("delete")) return "DeleteObjects";
  if (method === "PUT" && query.has("cors")) return "PutBucketCors";
  if (method === "DELETE") return "DeleteBucket";
  throw new Error(`the fake account has no ${method} ${query} of S3`);
}

export function fakeS3(account: FakeState, { method, url = "" }: IncomingMessage, body: string): FakeCall {
  const { pathname, searchParams: query } = new URL(url, "http://s3");
  const bucket = pathname.split("/")[1] ?? "";
  const operation = operationOf(method, query);
  const run = () =>
    account.buckets.has(bucket)
      ? (operations[operation]?.(account, bucket, { query, body }) ?? xml("", 500))
      : xml("<Error><Code>NoSuchBucket</Code></Error>", 404);
  return { operation, run };
}
