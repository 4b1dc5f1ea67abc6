import { serveWhole, type WholeReply } from "../../run/whole-requests.ts";
import {
  BotApiFault,
  METHODS,
  type Params,
  type StoredFile,
  type TelegramState,
} from "./telegram-methods.ts";
import type { TelegramMessage, TelegramUpdate, TelegramUser } from "./telegram-updates.ts";

export interface TelegramOptions {
  /** `{bot id}:{secret}`; any other token is Unauthorized. */
  token?: string;
  username?: string;
  /** A Bot API server in --local mode: webhooks may be plain HTTP on any port. */
  local?: boolean;
}

/** A call that the server received. */
export interface TelegramCall {
  method: string;
  params: Params;
  /** The HTTP status of the answer; 0 if the connection was dropped. */
  status: number;
}

/** A failure of the next call of a method. */
export type Failure =
  | { status: number; description: string }
  | { retryAfter: number }
  /** Close the connection without an answer; with `after` the call has taken effect. */
  | { drop: true; after?: boolean };

export interface TelegramServer {
  /** Base URL that replaces https://api.telegram.org. */
  url: string;
  token: string;
  bot: TelegramUser;
  calls: TelegramCall[];
  /** Messages that the bot sent, as Telegram stores them. */
  sent: TelegramMessage[];
  /** Messages with buttons, as they were sent. */
  asked: TelegramMessage[];
  /** What those who pressed a button were shown, by the id of the press. */
  pressed: TelegramState["pressed"];
  /** The bot's reaction to each message, by `{chat id}/{message id}`. */
  reactions: TelegramState["reactions"];
  /** Files that the bot sent. */
  uploads: TelegramState["uploads"];
  /** Makes the next calls of a method fail, one for each failure. */
  fail(method: string, ...failures: Failure[]): void;
  /** Adds a file for getFile and the download. */
  addFile(fileId: string, file: StoredFile): void;
  /** Turns a group into a supergroup. */
  move(from: number, to: number): void;
  /** Deletes all files. */
  removeFiles(): void;
  /**
   * Posts an update to a webhook as Telegram does, by default to that of setWebhook. Resolves with the webhook's
   * answer; Telegram would repeat an update without a 2xx answer.
   */
  deliver(
    update: TelegramUpdate,
    to?: { url: string; secret?: string },
  ): Promise<{ status: number; text: string }>;
  close(): Promise<void>;
}

/** A Telegram Bot API server on 127.0.0.1 (reference: https://core.telegram.org/bots/api). */
export async function startTelegramServer(options: TelegramOptions = {}): Promise<TelegramServer> {
  const token = options.token ?? "7000000001:test-token-of-a-bot-in-no-network";
  const bot = {
    id: Number(token.split(":")[0]),
    is_bot: true,
    first_name: "Gsv",
    username: options.username ?? "gsv_test_bot",
  };
  const state: TelegramState = {
    bot,
    local: options.local ?? false,
    sent: [],
    uploads: [],
    seen: new Set(),
    files: new Map(),
    webhook: {},
    lastMessage: 50_000,
    asked: [],
    pressed: new Map(),
    moved: new Map(),
    reactions: new Map(),
  };
  const calls: TelegramCall[] = [];
  const failures = new Map<string, Failure[]>();

  const server = await serveWhole(async ({ url, headers, bytes }) => {
    const [, file, given, rest] = url.pathname.match(/^\/(file\/)?bot([^/]+)\/(.+)$/) ?? [];
    if (!given || !rest || !/^\d+:/.test(given) || !bytes) return fault(404, "Not Found");
    if (given !== token) return fault(401, "Unauthorized");
    if (file) return download(state, decodeURIComponent(rest));
    const method = Object.keys(METHODS).find((name) => name.toLowerCase() === rest.toLowerCase()) ?? rest;
    const params = await readParams(url, headers["content-type"], bytes);
    if (!params) return fault(400, "Bad Request: can't parse request: Can't parse JSON object");
    const record: TelegramCall = { method, params, status: 0 };
    calls.push(record);
    const answer = run(method, params, state, failures.get(method)?.shift());
    if (answer) record.status = answer.status;
    return answer;
  });
  return {
    url: server.origin,
    token,
    bot,
    calls,
    sent: state.sent,
    asked: state.asked,
    pressed: state.pressed,
    reactions: state.reactions,
    uploads: state.uploads,
    fail: (method, ...more) => void failures.set(method, [...(failures.get(method) ?? []), ...more]),
    addFile: (fileId, stored) => void state.files.set(fileId, stored),
    move: (from, to) => void state.moved.set(from, to),
    removeFiles: () => state.files.clear(),
    deliver: (update, to) => deliver(state, update, to),
    close: server.close,
  };
}

/** The answer to a call of a method; undefined to drop the connection. */
function run(
  method: string,
  params: Params,
  state: TelegramState,
  failure: Failure | undefined,
): WholeReply | undefined {
  const known = METHODS[method];
  if (!known) return fault(404, "Not Found");
  if (failure && "retryAfter" in failure) return tooMany(failure.retryAfter);
  if (failure && "status" in failure) return fault(failure.status, failure.description);
  if (failure && !failure.after) return undefined;
  try {
    const { result, description } = known(params, state);
    if (failure) return undefined;
    return { status: 200, body: { ok: true, result, ...(description && { description }) } };
  } catch (error) {
    if (!(error instanceof BotApiFault)) throw error;
    return fault(error.status, error.message, error.parameters);
  }
}

function fault(error_code: number, description: string, parameters?: object): WholeReply {
  return { status: error_code, body: { ok: false, error_code, description, parameters } };
}

function tooMany(retry_after: number): WholeReply {
  const description = `Too Many Requests: retry after ${retry_after}`;
  return {
    status: 429,
    body: { ok: false, error_code: 429, description, parameters: { retry_after } },
    headers: { "retry-after": String(retry_after) },
  };
}

function download(state: TelegramState, path: string): WholeReply {
  const file = [...state.files.values()].find((one) => one.path === path);
  if (!file) return fault(404, "Not Found");
  const headers = {
    "content-type": "application/octet-stream",
    "content-length": String(file.bytes.length),
  };
  return { status: 200, body: file.bytes, headers };
}

/** Parameters may come in the query, as a form, as multipart form data, or as JSON. Undefined for broken JSON. */
async function readParams(url: URL, type = "", bytes: Buffer): Promise<Params | undefined> {
  const query = Object.fromEntries(url.searchParams);
  if (bytes.length === 0) return query;
  if (/^(multipart\/form-data|application\/x-www-form-urlencoded)/i.test(type)) {
    const form = await new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData();
    return {
      ...query,
      ...Object.fromEntries([...form.entries()].map(([key, value]) => [key, decoded(value)])),
    };
  }
  try {
    const json: unknown = JSON.parse(bytes.toString("utf8"));
    return typeof json === "object" && json !== null ? { ...query, ...json } : undefined;
  } catch {
    return undefined;
  }
}

/** Objects and lists are JSON-serialized in forms. */
function decoded(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

async function deliver(
  state: TelegramState,
  update: TelegramUpdate,
  to?: { url: string; secret?: string },
): Promise<{ status: number; text: string }> {
  const url = to?.url ?? state.webhook.url;
  if (!url) throw new Error("no webhook is set");
  const secret = to ? to.secret : state.webhook.secret_token;
  const message = update.message ?? update.edited_message;
  if (message) state.seen.add(`${message.chat.id}/${message.message_id}`);
  if (update.callback_query) state.pressed.set(update.callback_query.id, undefined);
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(secret && { "x-telegram-bot-api-secret-token": secret }),
    },
    body: JSON.stringify(update),
  });
  if (!response.ok) {
    state.webhook.last_error_date = Math.floor(Date.now() / 1000);
    state.webhook.last_error_message = `Wrong response from the webhook: ${response.status} ${response.statusText}`;
  }
  return { status: response.status, text: await response.text() };
}
