import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { exportFormats, type ImportFormat, importFormats } from "../../../shared/protocol/objects.ts";
import { Failure, usage } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { type Terminal, writeText } from "../../app/terminal.ts";

/** Maximum bytes of text in one page. */
const pageBytes = 4_000_000;

/** Prints a conversation as lines of JSON in a format, page by page. */
export const exportSession: Action = async (context, { args, options }) => {
  const format = oneOf(exportFormats, text(options.format) ?? "pi");
  const sessionId = text(options.id);
  const agentId = text(options.agent);
  const sessionKey = args[0] ?? (agentId === undefined ? (await context.settings()).sessionKey : undefined);
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

/** Makes an export the conversation of a session that has none. */
export const importSession: Action = async (context, { args, options }) => {
  const [file = "-", given] = args;
  const lines = await linesOf(file, context.terminal);
  const named = text(options.format);
  const format = named === undefined ? formatOf(lines) : oneOf(importFormats, named);
  const importId = randomUUID();
  const sessionKey = given ?? `imported-${importId.slice(0, 8)}`;
  const gateway = await context.gateway();
  const imported = await gateway.request("session.import", { sessionKey, importId, format, lines });
  const many = imported.messages === 1 ? "1 message" : `${imported.messages} messages`;
  context.print(imported, `${many} imported; go on with them: gsv client --session ${imported.sessionKey}`);
};

function oneOf<T extends string>(known: readonly T[], wanted: string): T {
  const found = known.find((one) => one === wanted);
  if (found === undefined) throw usage(`--format ${wanted}: expected one of ${known.join(", ")}`);
  return found;
}

/** The format of an export, by its first line. */
function formatOf(lines: string): ImportFormat {
  const [first = ""] = lines.trimStart().split("\n", 1);
  let value: unknown;
  try {
    value = JSON.parse(first);
  } catch {
    throw usage("the first line is no JSON; `gsv session export --format turns` writes what can be imported");
  }
  if (typeof value === "object" && value !== null) {
    if ("timestamp" in value && "role" in value) return "pi";
    if ("type" in value && value.type === "session" && !("timestamp" in value)) return "turns";
  }
  throw usage("this is neither an export as pi nor as turns; other formats cannot be imported");
}

async function linesOf(file: string, terminal: Terminal): Promise<string> {
  if (file !== "-") return readFile(resolve(terminal.cwd, file), "utf8");
  if (terminal.stdin.isTTY) throw usage("name a file, or send the lines on standard input");
  const chunks: Uint8Array[] = [];
  for await (const chunk of terminal.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}
