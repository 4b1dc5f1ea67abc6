import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { readBody, serveLoopback } from "../../../local/http/loopback.ts";
import type { ModelRequest, ModelServer, Refusal, Reply, Script, Turn, Wire } from "./script/script.ts";
import { answer, type Decision, decision, refused } from "./script/scripted-answer.ts";

export type * from "./script/script.ts";

/** An identifier in the services' style: a prefix and 24 letters and digits. */
export function wireId(prefix: string): string {
  return prefix + randomBytes(12).toString("hex");
}

/** Tool-call arguments as the client wrote them: parsed, or the text if it is not JSON. */
export function parseArguments(json: string): unknown {
  return parseJson(json) ?? json;
}

/** The largest request body that the services accept, in bytes. */
const MAX_BODY = 32 * 1024 * 1024;

/** Serves wire formats from one script on 127.0.0.1. The client's URL is the origin and `base`. */
export async function serveScript(wires: Wire[], base: string, script: Script): Promise<ModelServer> {
  const state = { requests: [] as ModelRequest[], active: 0, peak: 0, aborted: 0, closing: false, served: 0 };
  const waiting = Array.isArray(script) ? [...script] : [];

  const nextReply = async (request: ModelRequest): Promise<Reply> => {
    const index = state.served++;
    if (!Array.isArray(script)) return runScript(script, request, index);
    const missing = `no reply is scripted for request ${index + 1}`;
    return waiting.shift() ?? { error: { status: 400, message: missing } };
  };

  const decide = async (request: IncomingMessage): Promise<Decision> => {
    const { method, headers } = request;
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const wire = wires.find((one) => isAt(one, pathname) && method === "POST");
    if (!wire) return { status: 404, body: wires[0]?.errorBody(404, `Invalid URL (${method} ${pathname})`) };
    const text = (await readBody(request, MAX_BODY))?.toString("utf8");
    if (text === undefined)
      return { status: 413, body: wire.errorBody(413, "Request exceeds the maximum size") };
    const body = parseJson(text);
    const path = pathname.replace(/^\/v1/, "");
    const seen: ModelRequest = { path, headers, body, system: "", turns: [], tools: [] };
    state.requests.push(seen);
    const accepted = unreadable(wire, text, body) ?? wire.accept(headers, body);
    if ("status" in accepted) return refused(wire, seen, accepted);
    Object.assign(seen, accepted.view, { turns: accepted.view.turns.map(withoutTail) });
    return decision(wire, seen, accepted, await nextReply(seen), text.length);
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    answer(response, await decide(request));

  const server = await serveLoopback((request, response) => {
    state.active++;
    state.peak = Math.max(state.peak, state.active);
    response.on("close", () => {
      state.active--;
      if (!response.writableFinished && !response.errored && !state.closing) state.aborted++;
    });
    serve(request, response).catch((error: Error) => response.destroy(error));
  });

  return {
    url: server.origin + base,
    requests: state.requests,
    active: () => state.active,
    peak: () => state.peak,
    aborted: () => state.aborted,
    queue: (...replies) => {
      if (!Array.isArray(script)) throw new Error("the script of this server is a function");
      waiting.push(...replies);
    },
    pending: () => waiting.length,
    close: () => {
      state.closing = true;
      return server.close();
    },
  };
}

/** A user turn without what the gateway appends to it (`functions/agent/context/message-tail.ts`), as scripts read it. */
function withoutTail(turn: Turn): Turn {
  return { ...turn, text: turn.text.replace(/\n*<gateway>\n[\s\S]*?\n<\/gateway>/g, "") };
}

function isAt({ path }: Wire, pathname: string): boolean {
  return typeof path === "string" ? path === pathname : path.test(pathname);
}

/** Half a surrogate pair is valid in JSON, but not in UTF-8. */
function unreadable(wire: Wire, text: string, body: unknown): Refusal | undefined {
  // Most texts contain no escape of a surrogate.
  if (body === undefined || !/\\ud/i.test(text)) return undefined;
  if (!/(?<!\\)\\ud[89a-f][0-9a-f]{2}/i.test(JSON.stringify(body))) return undefined;
  return { status: 400, body: wire.errorBody(400, "The request body is not valid JSON: invalid surrogate") };
}

/** If a script throws, refuses with its message instead of dropping the connection. */
async function runScript(
  script: Exclude<Script, Reply[]>,
  request: ModelRequest,
  index: number,
): Promise<Reply> {
  try {
    return await script(request, index);
  } catch (error) {
    return { error: { status: 400, message: `the script failed: ${(error as Error).message}` } };
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
