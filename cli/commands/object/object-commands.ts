import { type ListedObject, type MemoryObject, objectTypes } from "../../../shared/protocol/objects.ts";
import { columns, moment, pairs } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { usage } from "../../app/failure.ts";
import { type Invocation, type OptionValue, text, wholeNumber } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { writeText } from "../../app/terminal.ts";

const mostVersions = 1_000_000;

/** The conversation that an object is looked for in. The id of a session names its session. */
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
  const wanted = text(options.type);
  const type = objectTypes.find((one) => one === wanted);
  if (wanted !== undefined && !type)
    throw usage(`--type must be one of ${objectTypes.join(", ")}, not ${wanted}`);
  const limit = wholeNumber("--limit", options.limit, 1, 1000);
  const offset = wholeNumber("--offset", options.offset, 0, mostVersions);
  const where = await place(context, invocation);
  const gateway = await context.gateway();
  const list = await gateway.request("object.list", { ...where, type, limit, offset });
  const rows = list.objects.map((one) => [one.type, one.id, `v${one.version_no}`, moment(one.at), told(one)]);
  context.print(list, columns(["TYPE", "ID", "VERSION", "AT", "WHAT"], rows));
  const rest = list.count - list.objects.length - (offset ?? 0);
  if (rest > 0) context.note(`${rest} more: --limit and --offset show them`);
};

/** What a list says of an object besides. */
function told({ type, args_display, status, char_count, turn_count }: ListedObject): string {
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
    version: wholeNumber("--version-no", options.versionNo, 1, mostVersions),
    at: timeOf(options.at),
    message: wholeNumber("--message", options.message, 1, mostVersions),
    hash: text(options.hash),
  });
  if (options.content !== true) context.print(object, view(object));
  else if (object.content === null) context.note(`${id} has no text`);
  else if (context.json) context.print(object.content, "");
  else writeText(context.terminal.stdout, object.content);
};

/** @throws Failure (usage) for what is no time */
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
    before: wholeNumber("--before", options.before, 1, mostVersions),
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
  const version = wholeNumber("--from", options.from, 1, mostVersions);
  const compared = await (await context.gateway()).request("object.diff", {
    from: { ...from, id, version: version ?? (other === undefined ? 1 : undefined) },
    to: {
      ...(otherSession === undefined ? to : { sessionKey: otherSession }),
      id: other ?? id,
      version: wholeNumber("--to", options.to, 1, mostVersions),
    },
  });
  context.print(compared, compared.same ? "the contents are the same" : compared.diff);
};
