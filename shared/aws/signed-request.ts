import { SSMClient } from "@aws-sdk/client-ssm";
import { SignatureV4 } from "@smithy/signature-v4";

/** One request to an AWS API, for the few calls that need no SDK package. */
export interface ApiRequest {
  /** The name in the endpoint's address, which is also that of the signature, e.g. `sts`. */
  service: string;
  region: string;
  /** Default: POST. */
  method?: "GET" | "POST";
  /** Path with encoded parts. Default: `/`. */
  path?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
}

/** An API's refusal. `name` is its error code, e.g. `AccessDeniedException`. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, name: string, message: string) {
    super(message);
    this.name = name;
    this.status = status;
  }
}

/** Sends a request and returns the body of a successful answer. @throws ApiError; Error when nothing answers */
export type SendSigned = (request: ApiRequest) => Promise<string>;

/** Maximum time of one attempt, ms. */
const attemptMs = 10_000;
/** Maximum number of attempts while a service throttles or fails. */
const maxAttempts = 3;

/**
 * Signs requests with the credentials that the SDK finds.
 * @param endpoint replaces the address of every service
 */
export function openSigned(endpoint?: string): SendSigned {
  // Any client can be used: each finds the same credentials.
  const { credentials, sha256 } = new SSMClient({ region: "us-east-1" }).config;
  return async (request) => {
    const { service, region, method = "POST", path = "/", query = {}, headers = {}, body } = request;
    const base = new URL(endpoint ?? `https://${service}.${region}.amazonaws.com`);
    const signed = await new SignatureV4({ service, region, credentials, sha256 }).sign({
      ...{ method, path, query, body, protocol: base.protocol, hostname: base.hostname },
      headers: { ...headers, host: base.host },
    });
    const url = new URL(
      `${path}${Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : ""}`,
      base,
    );
    for (let attempt = 1; ; attempt++) {
      const signal = AbortSignal.timeout(attemptMs);
      const answer = await fetch(url, { method, headers: signed.headers, body, signal });
      const text = await answer.text();
      if (answer.ok) return text;
      if (attempt < maxAttempts && (answer.status === 429 || answer.status >= 500)) continue;
      throw refusal(answer, text);
    }
  };
}

/** A call of an API that gets a form and answers in XML. */
export function formRequest(service: string, region: string, fields: Record<string, string>): ApiRequest {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return { service, region, headers, body: String(new URLSearchParams(fields)) };
}

/** A call of an API with one address, whose operation is in a header. */
export function rpcRequest(service: string, target: string, input: object): Omit<ApiRequest, "region"> {
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": target };
  return { service, headers, body: JSON.stringify(input) };
}

/** The error of an answer in XML or JSON. */
function refusal({ status, headers }: Response, text: string): ApiError {
  const type = headers.get("x-amzn-errortype") ?? xmlValue(text, "Code") ?? jsonValue(text, "__type");
  const name = type?.split("#").at(-1)?.split(":")[0] ?? `HTTP ${status}`;
  const message = xmlValue(text, "Message") ?? jsonValue(text, "message") ?? jsonValue(text, "Message");
  return new ApiError(status, name, message ?? name);
}

/** The text of the first element with this name, which contains no other element. */
export function xmlValue(text: string, element: string): string | undefined {
  return new RegExp(`<${element}>([^<]*)</${element}>`).exec(text)?.[1];
}

function jsonValue(text: string, key: string): string | undefined {
  try {
    const value: unknown = (JSON.parse(text) as Record<string, unknown>)[key];
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
