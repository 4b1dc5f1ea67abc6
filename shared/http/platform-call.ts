import {
  type ChannelAccount,
  type OutboundFile,
  type PlatformFailure,
  sendTimeoutMs,
} from "../channels/channel.ts";

/** Longest description of a failure that is kept, in characters. */
const maxReason = 200;

export interface PlatformRequest {
  method?: "GET" | "POST" | "PATCH" | "PUT";
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: object;
  /** Sent as multipart form data. */
  form?: FormData;
  /** `sendTimeoutMs` unless given. */
  timeoutMs?: number;
  /** Ends several calls together, in place of a time for each. */
  signal?: AbortSignal;
}

export type PlatformAnswer =
  /** `body` is the JSON that came, undefined where it is none. */
  | { answered: true; status: number; headers: Headers; body: unknown }
  /** No connection, or no answer in time. `reason` holds no part of the address. */
  | { answered: false; reason: string };

/** Calls a platform's API. Does not throw, and follows no redirect: elsewhere the token would go along. */
export async function callPlatform(url: string, request: PlatformRequest): Promise<PlatformAnswer> {
  const { method = "POST", headers, body, form, timeoutMs = sendTimeoutMs } = request;
  const { signal = AbortSignal.timeout(timeoutMs) } = request;
  try {
    const response = await fetch(url, {
      method,
      headers: { ...(body ? { "content-type": "application/json; charset=utf-8" } : {}), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
      ...(form ? { body: form } : {}),
      redirect: "manual",
      signal,
    });
    const text = await response.text();
    return { answered: true, status: response.status, headers: response.headers, body: parseJson(text) };
  } catch (error) {
    return { answered: false, reason: describe(error, timeoutMs) };
  }
}

/** A file as form data holds it. */
export function fileOf({ filename, mimeType, body }: OutboundFile): File {
  // A File copies what it is made of: to copy it here, for the sake of its type, would be 25 MB more.
  return new File([body as Uint8Array<ArrayBuffer>], filename, { type: mimeType });
}

/** Where an account's platform is: its `apiBaseUrl` stands in place of the platform's own origin. */
export function baseUrlOf({ settings }: ChannelAccount, origin: string): string {
  const { apiBaseUrl } = settings;
  return (typeof apiBaseUrl === "string" ? apiBaseUrl : origin).replace(/\/+$/, "");
}

/** What a platform says of a failure, shortened and without these secrets. */
export function plainReason(text: string, ...secrets: (string | undefined)[]): string {
  let reason = text;
  for (const secret of secrets) if (secret) reason = reason.replaceAll(secret, "***");
  return reason.slice(0, maxReason);
}

/** A failure that may pass, or one that will not. */
export function failedSend(isRetryable: boolean, reason: string, retryAfterMs?: number): PlatformFailure {
  if (!isRetryable) return { status: "failed", reason };
  return { status: "retry", reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** Whether a call with this HTTP status may succeed later. */
export function isPassing(status: number): boolean {
  return status === 429 || status >= 500;
}

/** The wait that a `Retry-After` in seconds asks for, in milliseconds. */
export function retryAfterOf(headers: Headers): number | undefined {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds * 1000) : undefined;
}

/** The JSON that bytes or a text hold; undefined for anything else. */
export function parseJson(source: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof source === "string" ? source : new TextDecoder().decode(source));
  } catch {
    return undefined;
  }
}

/** An error's message may hold the address, so only its kind is told. */
function describe(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return "no connection";
  if (error.name === "TimeoutError") return `no answer within ${timeoutMs / 1000} s`;
  const { code } = (error.cause ?? {}) as { code?: unknown };
  return typeof code === "string" ? `no connection (${code})` : "no connection";
}
