import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  exportFormats,
  type ImportFormat,
  importFormats,
  type ListedObject,
  type MemoryObject,
  objectTypes,
} from "../../../shared/protocol/objects.ts";
import { columns, moment, pairs } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { type Invocation, type OptionValue, text, wholeNumber } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { type Terminal, writeText } from "../../app/terminal.ts";

/** Max value of a version, message or offset. */
const maxNumber = 1_000_000;

/** Maximum bytes of text in one page of an export. */
const pageBytes = 4_000_000;

/** The conversation in which to find an object. The id of a session object names its session. */
async function place(
  context: Context,
  { options }: Invocation,
  id = "",
): Promise<{ sessionKey: string; sessionId?: string }> {
  const named = /^session:(.+)$/s.exec(id)?.[1];
  const sessionKey = text(options.session) ?? named ?? (await context.settings()).sessionKey;
  return { sessionKey, sessionId: text(options.conversation) };
}

export const listObjects: Action = async (context, invocation) => {
  const { options } = invocation;
  const type = oneOf("--type", objectTypes, text(options.type));
  const limit = wholeNumber("--limit", options.limit, 1, 1000);
  const offset = wholeNumber("--offset", options.offset, 0, maxNumber);
  const where = await place(context, invocation);
  const gateway = await context.gateway();
  const list = await gateway.request("object.list", { ...where, type, limit, offset });
  const rows = list.objects.map((one) => [
    one.type,
    one.id,
    `v${one.version_no}`,
    moment(one.at),
    details(one),
  ]);
  context.print(list, columns(["TYPE", "ID", "VERSION", "AT", "WHAT"], rows));
  const rest = list.count - list.objects.length - (offset ?? 0);
  if (rest > 0) context.note(`${rest} more; use --limit and --offset to show them`);
};

/** The last column of a list. */
function details({ type, args_display, status, char_count, turn_count }: ListedObject): string {
  if (type === "toolcall") return `${args_display} (${status})`;
  if (type === "file") return `${char_count} characters`;
  return type === "chat" ? `${turn_count} turns` : "";
}

export const getObject: Action = async (context, invocation) => {
  const { args, options } = invocation;
  const [id = ""] = args;
  const object = await (await context.gateway()).request("object.get", {
    ...(await place(context, invocation, id)),
    id,
    version: wholeNumber("--version-no", options.versionNo, 1, maxNumber),
    at: timeOf(options.at),
    message: wholeNumber("--message", options.message, 1, maxNumber),
    hash: text(options.hash),
  });
  if (options.content !== true) context.print(object, view(object));
  else if (object.content === null) context.note(`${id} has no text`);
  else if (context.json) context.print(object.content, "");
  else writeText(context.terminal.stdout, object.content);
};

/** @throws Failure (usage) for an invalid time */
function timeOf(value: OptionValue): number | undefined {
  const given = text(value);
  if (given === undefined) return undefined;
  const time = /^\d+$/.test(given) ? Number(given) : Date.parse(given);
  if (Number.isNaN(time))
    throw usage(`--at must be a time such as 2026-03-01T09:00:00Z, or milliseconds, not ${given}`);
  return time;
}

function view(object: MemoryObject): string {
  const { content, at, turns, ...fields } = object as MemoryObject & { turns?: unknown };
  const rows = Object.entries(fields).map(([name, value]): [string, string] => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return `${pairs([...rows, ["at", new Date(at).toISOString()]])}\n\n${content ?? "(no text)"}`;
}

export const showHistory: Action = async (context, invocation) => {
  const { args, options } = invocation;
  const [id = ""] = args;
  const history = await (await context.gateway()).request("object.history", {
    ...(await place(context, invocation, id)),
    id,
    limit: wholeNumber("--limit", options.limit, 1, 100),
    before: wholeNumber("--before", options.before, 1, maxNumber),
  });
  const rows = history.versions.map((version) => [
    `v${version.version_no}`,
    moment(version.at),
    String(version.message),
    version.content_hash,
    version.object_hash,
  ]);
  context.print(history, columns(["VERSION", "AT", "MESSAGE", "CONTENT HASH", "OBJECT HASH"], rows));
};

export const diffObjects: Action = async (context, invocation) => {
  const { args, options } = invocation;
  const [id = "", other] = args;
  const from = await place(context, invocation, id);
  const to = other === undefined ? from : await place(context, invocation, other);
  const otherSession = text(options.otherSession);
  const version = wholeNumber("--from", options.from, 1, maxNumber);
  const compared = await (await context.gateway()).request("object.diff", {
    from: { ...from, id, version: version ?? (other === undefined ? 1 : undefined) },
    to: {
      ...(otherSession === undefined ? to : { sessionKey: otherSession }),
      id: other ?? id,
      version: wholeNumber("--to", options.to, 1, maxNumber),
    },
  });
  context.print(compared, compared.same ? "the contents are the same" : compared.diff);
};

/** Prints a conversation as lines of JSON, page by page. */
export const exportConversation: Action = async (context, { args, options }) => {
  const format = oneOf("--format", exportFormats, text(options.format)) ?? "pi";
  const sessionId = text(options.conversation) ?? text(options.id);
  const agentId = text(options.agent);
  const named = args[0] ?? text(options.session);
  const sessionKey = named ?? (agentId === undefined ? (await context.settings()).sessionKey : undefined);
  const redact = options.redact === true;
  const gateway = await context.gateway();
  let next: string | undefined;
  do {
    const request = { sessionKey, sessionId, agentId, format, redact, next, maxBytes: pageBytes };
    const page = await gateway.request("session.export", request);
    writeText(context.terminal.stdout, page.text);
    // Prevent an endless loop when the gateway returns the same page again.
    if (page.next !== undefined && page.next === next)
      throw new Failure("internal", "the gateway returned the same page twice; run the command again");
    next = page.next;
  } while (next !== undefined);
};

/** Starts a session with an exported conversation. */
export const importConversation: Action = async (context, { args, options }) => {
  const [file = "-", given = text(options.session)] = args;
  const lines = await linesOf(file, context.terminal);
  const format = oneOf("--format", importFormats, text(options.format)) ?? formatOf(lines);
  const importId = randomUUID();
  const sessionKey = given ?? `imported-${importId.slice(0, 8)}`;
  const gateway = await context.gateway();
  const imported = await gateway.request("session.import", { sessionKey, importId, format, lines });
  const many = imported.messages === 1 ? "1 message" : `${imported.messages} messages`;
  context.print(imported, `${many} imported; continue with: gsv client --session ${imported.sessionKey}`);
};

/** @throws Failure (usage) for an unknown value of an option */
function oneOf<T extends string>(option: string, known: readonly T[], wanted?: string): T | undefined {
  const found = known.find((one) => one === wanted);
  if (wanted === undefined || found !== undefined) return found;
  throw usage(`${option} must be one of ${known.join(", ")}, not ${wanted}`);
}

/** Detects the format of an export from its first line. */
function formatOf(lines: string): ImportFormat {
  const [first = ""] = lines.trimStart().split("\n", 1);
  let value: unknown;
  try {
    value = JSON.parse(first);
  } catch {
    throw usage(
      "the first line is not JSON; `gsv object export --format turns` writes lines that can be imported",
    );
  }
  if (typeof value === "object" && value !== null) {
    if ("timestamp" in value && "role" in value) return "pi";
    if ("type" in value && value.type === "session" && !("timestamp" in value)) return "turns";
  }
  throw usage("the lines are neither pi nor turns; other formats cannot be imported");
}

async function linesOf(file: string, terminal: Terminal): Promise<string> {
  if (file !== "-") return readFile(resolve(terminal.cwd, file), "utf8");
  if (terminal.stdin.isTTY) throw usage("name a file, or send the lines on standard input");
  const chunks: Uint8Array[] = [];
  for await (const chunk of terminal.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}
