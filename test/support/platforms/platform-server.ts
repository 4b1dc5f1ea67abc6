import { serveWhole, type WholeReply, type WholeRequest } from "../run/whole-requests.ts";

/** A call of the platform's API. */
export interface PlatformCall {
  method: string;
  /** Without the query. */
  path: string;
  query: Record<string, string>;
  headers: Record<string, string | undefined>;
  /** The JSON body; undefined if there is none. */
  body: Record<string, unknown> | undefined;
  /** The form data; undefined if there is none. */
  form?: FormData;
  /** The raw body. */
  bytes: Buffer;
  /** The HTTP status of the answer; 0 if the connection was dropped. */
  status: number;
}

/** A file that a user sent. */
export interface SharedFile {
  name: string;
  type: string;
  bytes: Buffer;
  /** Whether it is a voice message. */
  voice?: boolean;
}

/** The response to a file's download. */
export function download({ type, bytes }: Pick<SharedFile, "type" | "bytes">): PlatformReply {
  return { status: 200, body: bytes, headers: { "content-type": type } };
}

export type PlatformReply = WholeReply;

/** A failure of the next call. */
export type PlatformFailure =
  | PlatformReply
  /** Close the connection without an answer; with `after` the call has taken effect. */
  | { drop: true; after?: boolean };

export interface PlatformServer {
  /** Base URL that replaces the platform's own origin. */
  url: string;
  calls: PlatformCall[];
  /** Makes the next matching calls fail, one for each failure. A string matches a part of `{method} {path}`. */
  fail(which: string | ((call: PlatformCall) => boolean), ...failures: PlatformFailure[]): void;
  close(): Promise<void>;
}

/** Serves a JSON API on 127.0.0.1 with `answer`. */
export async function startPlatformServer(
  answer: (call: PlatformCall) => PlatformReply | Promise<PlatformReply>,
): Promise<PlatformServer> {
  const calls: PlatformCall[] = [];
  const failures: { isMeant: (call: PlatformCall) => boolean; failure: PlatformFailure }[] = [];
  const take = async (call: PlatformCall): Promise<PlatformReply | undefined> => {
    const index = failures.findIndex(({ isMeant }) => isMeant(call));
    const failure = index < 0 ? undefined : failures.splice(index, 1)[0]?.failure;
    if (!failure) return answer(call);
    if (!("drop" in failure)) return failure;
    if (failure.after) await answer(call);
    return undefined;
  };
  const server = await serveWhole(async (request) => {
    const call = await readCall(request);
    calls.push(call);
    const reply = await take(call);
    if (reply) call.status = reply.status;
    return reply;
  });
  return {
    url: server.origin,
    calls,
    fail(which, ...more) {
      const isMeant =
        typeof which === "string"
          ? ({ method, path }: PlatformCall) => `${method} ${path}`.includes(which)
          : which;
      failures.push(...more.map((failure) => ({ isMeant, failure })));
    },
    close: server.close,
  };
}

async function readCall({
  method,
  url,
  headers,
  bytes = Buffer.alloc(0),
}: WholeRequest): Promise<PlatformCall> {
  const type = headers["content-type"] ?? "";
  const content = type.startsWith("multipart/form-data")
    ? {
        body: undefined,
        form: await new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData(),
      }
    : { body: parse(bytes) };
  const query = Object.fromEntries(url.searchParams);
  return { method, path: url.pathname, query, headers, ...content, bytes, status: 0 };
}

function parse(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(bytes.toString("utf8"));
    return typeof json === "object" && json !== null ? (json as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** A request to a webhook, as a platform sends it. */
export interface SignedRequest {
  method: string;
  /** Relative to the webhook's address, with the leading slash. */
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export interface WebhookReply {
  status: number;
  text: string;
  contentType: string;
}

/** Sends a request to a webhook. */
export async function callWebhook(
  webhookUrl: string,
  { method, path, headers, body }: SignedRequest,
): Promise<WebhookReply> {
  const response = await fetch(`${webhookUrl}${path}`, { method, headers, body });
  const contentType = response.headers.get("content-type") ?? "";
  return { status: response.status, text: await response.text(), contentType };
}
