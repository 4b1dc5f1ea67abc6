import {
  type ChannelAccount,
  type OutboundFile,
  type PlatformFailure,
  sendTimeoutMs,
} from "../channels/channel.ts";

/** Maximum length of a failure's reason, in characters. */
const maxReason = 200;

export interface PlatformRequest {
  method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: object;
  /** Sent as multipart form data. */
  form?: FormData;
  /** Default `sendTimeoutMs`. */
  timeoutMs?: number;
  /** The response's body is returned as its bytes. */
  isBinary?: true;
  /** Aborts the call; replaces `timeoutMs`. Several calls can share one signal. */
  signal?: AbortSignal;
}

export type PlatformAnswer =
  /** `body` is the parsed JSON, undefined when the response is not JSON; a `Uint8Array` if bytes were asked for. */
  | { answered: true; status: number; headers: Headers; body: unknown }
  /** No connection, or no response in time. `reason` contains no part of the URL. */
  | { answered: false; reason: string };

/**
 * Calls a platform's API. Does not throw. Does not follow redirects, which would send the token to another
 * server.
 */
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
    const { status, headers: received } = response;
    const answer = request.isBinary
      ? new Uint8Array(await response.arrayBuffer())
      : parseJson(await response.text());
    return { answered: true, status, headers: received, body: answer };
  } catch (error) {
    return { answered: false, reason: connectionFailure(error, timeoutMs) };
  }
}

/** A file for multipart form data. */
export function fileOf({ filename, mimeType, body }: OutboundFile): File {
  // The cast avoids a copy: File copies its parts anyway, and another copy would need up to 25 MB.
  return new File([body as Uint8Array<ArrayBuffer>], filename, { type: mimeType });
}

/**
 * The base URL of an account's platform: the setting `apiBaseUrl`, else the platform's own origin. No
 * trailing slash.
 */
export function baseUrlOf({ settings }: ChannelAccount, origin: string): string {
  const { apiBaseUrl } = settings;
  return (typeof apiBaseUrl === "string" ? apiBaseUrl : origin).replace(/\/+$/, "");
}

/** A platform's description of a failure, shortened and with these secrets replaced by `***`. */
export function plainReason(text: string, ...secrets: (string | undefined)[]): string {
  let reason = text;
  for (const secret of secrets) if (secret) reason = reason.replaceAll(secret, "***");
  return reason.slice(0, maxReason);
}

/** A retryable or a final failure. */
export function failedSend(isRetryable: boolean, reason: string, retryAfterMs?: number): PlatformFailure {
  if (!isRetryable) return { status: "failed", reason };
  return { status: "retry", reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** Whether a call with this HTTP status may succeed later. */
export function isPassing(status: number): boolean {
  return status === 429 || status >= 500;
}

/** The wait in milliseconds from a `Retry-After` header in seconds; undefined when absent or invalid. */
export function retryAfterOf(headers: Headers): number | undefined {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds * 1000) : undefined;
}

/**
 * Parses JSON; undefined for invalid JSON. JSON can contain lone surrogates (`"\\ud800"`), which are invalid in URLs and
 * table keys: they are replaced by U+FFFD.
 */
export function parseJson(source: string | Uint8Array): unknown {
  try {
    const text = typeof source === "string" ? source : new TextDecoder().decode(source);
    return JSON.parse(text, (_name, value) => (typeof value === "string" ? value.toWellFormed() : value));
  } catch {
    return undefined;
  }
}

/** Describes an error without its message, which may contain the URL. */
function connectionFailure(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return "no connection";
  if (error.name === "TimeoutError") return `no answer within ${timeoutMs / 1000} s`;
  const { code } = (error.cause ?? {}) as { code?: unknown };
  return typeof code === "string" ? `no connection (${code})` : "no connection";
}
