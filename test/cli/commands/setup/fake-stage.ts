import type { IncomingMessage, ServerResponse } from "node:http";
import { readBody, sendJson, serveLoopback } from "../../../../local/http/loopback.ts";
import { type AccountState, answerAccount, goodAccount } from "../doctor/preflight-services.ts";

/** The data of a deployed stage `home`, in the wire formats of SSM, DynamoDB and S3. Supports only its deletion. */
export interface FakeStage {
  url: string;
  parameters: Map<string, string>;
  tables: Set<string>;
  /** Versions of objects and delete markers, by `key@version`. */
  versions: Set<string>;
  buckets: Set<string>;
  /** The account, as `preflight` sees it. */
  account: AccountState;
  close(): Promise<void>;
}

/** Number of versions per page: fewer than S3's thousand, so that a test needs several pages. */
const pageSize = 2;

/** Number of parameters per page: AWS returns up to ten. */
const parameterPage = 3;

export async function startFakeStage(webSocketUrl: string): Promise<FakeStage> {
  const names = {
    "websocket-url": webSocketUrl,
    "webhook-url": "https://hook/",
    "table-name": "T",
    "bucket-name": "b",
  };
  const stage: Omit<FakeStage, "url" | "close"> = {
    parameters: new Map(Object.entries(names).map(([name, value]) => [`/gsv/home/${name}`, value])),
    tables: new Set(["T"]),
    versions: new Set(["a.txt@1", "a.txt@2", "b.txt@1", "c.txt@1", "c.txt@2"]),
    buckets: new Set(["b"]),
    account: goodAccount(),
  };
  for (let secret = 1; secret <= 12; secret++) stage.parameters.set(`/gsv/home/secrets/s${secret}`, "***");
  const server = await serveLoopback(async (request, response) => {
    const body = String((await readBody(request, 1_000_000)) ?? "");
    if (answerAccount(stage.account, request, body, response)) return;
    const target = String(request.headers["x-amz-target"] ?? "");
    if (target !== "") json(stage, target.split(".")[1] ?? "", JSON.parse(body), response);
    else s3(stage, request, body, response);
  });
  return { ...stage, url: server.origin, close: server.close };
}

function json(
  { parameters, tables }: Pick<FakeStage, "parameters" | "tables">,
  operation: string,
  input: { Path?: string; Recursive?: boolean; NextToken?: string; Names?: string[]; TableName?: string },
  response: ServerResponse,
): void {
  const { Path = "", Recursive = false, Names = [], TableName = "" } = input;
  const absent = {
    __type: "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
    message: "no table",
  };
  if (operation === "GetParametersByPath") {
    const isChild = (name: string) =>
      name.startsWith(`${Path}/`) && (Recursive || !name.slice(Path.length + 1).includes("/"));
    const { from, empty } = JSON.parse(input.NextToken ?? '{"from":0,"empty":true}');
    const found = [...parameters].filter(([name]) => isChild(name)).sort();
    // As AWS may: each page has fewer parameters than allowed, and an empty one comes before it.
    const to = empty ? from : from + parameterPage;
    const next = to < found.length ? { NextToken: JSON.stringify({ from: to, empty: !empty }) } : {};
    const page = found.slice(from, to).map(([Name, Value]) => ({ Name, Value }));
    sendJson(response, 200, { Parameters: page, ...next });
  } else if (operation === "DeleteParameters") {
    for (const name of Names) parameters.delete(name);
    sendJson(response, 200, { DeletedParameters: Names });
  } else if (operation === "DeleteTable" && tables.delete(TableName)) sendJson(response, 200, {});
  else sendJson(response, 400, absent);
}

function s3(
  { versions, buckets }: Pick<FakeStage, "versions" | "buckets">,
  { method, url = "" }: IncomingMessage,
  body: string,
  response: ServerResponse,
): void {
  const { pathname, searchParams } = new URL(url, "http://s3");
  const answer = (status: number, xml = "") =>
    response.writeHead(status, { "content-type": "application/xml" }).end(xml);
  if (!buckets.has(pathname.split("/")[1] ?? ""))
    return void answer(404, "<Error><Code>NoSuchBucket</Code></Error>");
  if (method === "GET" && searchParams.has("versions")) {
    const page = [...versions].slice(0, pageSize).map((one, index) => {
      const [key, version] = one.split("@");
      const name = index === 0 ? "Version" : "DeleteMarker";
      return `<${name}><Key>${key}</Key><VersionId>${version}</VersionId></${name}>`;
    });
    answer(200, `<ListVersionsResult>${page.join("")}</ListVersionsResult>`);
  } else if (method === "POST" && searchParams.has("delete")) {
    const objects = body.matchAll(/<Key>(.*?)<\/Key><VersionId>(.*?)<\/VersionId>/g);
    for (const [, key, version] of objects) versions.delete(`${key}@${version}`);
    answer(200, "<DeleteResult></DeleteResult>");
  } else if (method === "DELETE" && versions.size === 0) {
    buckets.clear();
    answer(204);
  } else answer(409, "<Error><Code>BucketNotEmpty</Code></Error>");
}
