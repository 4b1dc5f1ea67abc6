import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import * as v from "valibot";
import { resolvePath } from "../files/file-paths.ts";

const serverSchema = v.object({
  command: v.optional(v.pipe(v.string(), v.minLength(1))),
  args: v.optional(v.array(v.string()), []),
  env: v.optional(v.record(v.string(), v.string()), {}),
  cwd: v.optional(v.string()),
  disabled: v.optional(v.boolean(), false),
  url: v.optional(v.string()),
});
const fileSchema = v.object({ mcpServers: v.record(v.string(), v.unknown()) });

/** A server of an `mcp.json`: a program that speaks MCP on its standard input and output. */
export interface ServerEntry {
  /** Part of its tools' names: up to 24 characters of `[a-z0-9-]`. */
  name: string;
  command: string;
  args: string[];
  /** Variables of the server besides the usual ones. Their values are secrets. */
  env: Record<string, string>;
  /** Absolute path of the folder in which it runs; absent: the node's workspace. */
  cwd?: string;
}

/** The content of an `mcp.json`: its servers, and why some entries are not among them. */
export interface McpFile {
  servers: ServerEntry[];
  disabled: string[];
  faults: string[];
}

/**
 * Reads an `mcp.json` in the format of Claude and Cursor. `${NAME}`, `${env:NAME}` and `${NAME:-default}` in its texts are replaced
 * by variables of the environment. Undefined when there is no such file.
 * @throws Error when it cannot be read
 */
export async function readMcpFile(
  file: string,
  environment: NodeJS.ProcessEnv,
): Promise<McpFile | undefined> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const parsed = v.safeParse(fileSchema, parse(text, file));
  if (!parsed.success) throw new Error(`${file}: expected {"mcpServers": {"name": {"command": …}}}`);
  const found: McpFile = { servers: [], disabled: [], faults: [] };
  for (const [given, entry] of Object.entries(parsed.output.mcpServers))
    addServer(found, given, entry, { file, environment });
  return found;
}

function addServer(
  found: McpFile,
  given: string,
  entry: unknown,
  { file, environment }: { file: string; environment: NodeJS.ProcessEnv },
): void {
  const name = serverName(given);
  const server = v.safeParse(serverSchema, entry, { abortEarly: true });
  if (!server.success) {
    const [issue] = server.issues;
    found.faults.push(`${given}: ${v.getDotPath(issue) ?? "the entry"}: ${issue.message}`);
    return;
  }
  const { command, args, env, cwd, disabled, url } = server.output;
  const expand = (text: string) => expandVariables(text, environment);
  if (disabled) found.disabled.push(name);
  else if (command === undefined && url !== undefined)
    found.faults.push(`${given}: it has an address; add it to the gateway (\`gsv mcp add\`)`);
  else if (command === undefined) found.faults.push(`${given}: command is missing`);
  else if (name === "") found.faults.push(`${given}: the name needs a letter or digit`);
  else if (found.servers.some((other) => other.name === name))
    found.faults.push(`${given}: another server is called ${name}, too`);
  else
    found.servers.push({
      name,
      command: command.startsWith("~/") ? resolvePath(homedir(), command) : expand(command),
      args: args.map(expand),
      env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, expand(value)])),
      ...(cwd === undefined ? {} : { cwd: resolvePath(dirname(resolve(file)), expand(cwd)) }),
    });
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The message of JSON.parse quotes the text, which contains secrets.
    const [, place = ""] = /(at position \d+)/.exec((error as Error).message) ?? [];
    throw new Error(`${file} is not JSON ${place}`.trim());
  }
}

/** A server's name as part of tool names. */
function serverName(given: string): string {
  return given
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, 24)
    .replace(/-$/, "");
}

function expandVariables(text: string, environment: NodeJS.ProcessEnv): string {
  return text.replaceAll(
    /\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}/g,
    (whole, name: string, fallback?: string) => environment[name] ?? fallback ?? whole,
  );
}
