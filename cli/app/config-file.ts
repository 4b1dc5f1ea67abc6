import { chmod, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { parse, stringify, TomlError } from "smol-toml";
import { Failure } from "./failure.ts";

/** What the config file may say. Tables and keys that are not known are kept when the file is written again. */
export interface ConfigFile {
  gateway?: { url?: string; token?: string };
  node?: { id?: string; workspace?: string };
  session?: { default_key?: string };
  /** The stage that is deployed from here, and what else of the CDK's context it was given. */
  deploy?: Record<string, string>;
}

type Environment = Record<string, string | undefined>;

/** The settings that must be text; `all` of them where their names are not ours. */
const fields: Record<keyof ConfigFile, readonly string[] | "all"> = {
  gateway: ["url", "token"],
  node: ["id", "workspace"],
  session: ["default_key"],
  deploy: "all",
};

/** The folder of the config file and the chat history: `$XDG_CONFIG_HOME/gsv`, or `~/.config/gsv`. */
export function configFolder(env: Environment): string {
  const base = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  return join(base, "gsv");
}

/** Reads the file; one that does not exist is empty. Throws a Failure that names file and line, or file and field. */
export async function readConfigFile(file: string): Promise<ConfigFile> {
  return checked(file, await readToml(file));
}

/** True when others on this machine can read the file, and so the token in it. */
export async function isExposed(file: string): Promise<boolean> {
  try {
    return process.platform !== "win32" && ((await stat(file)).mode & 0o077) !== 0;
  } catch {
    return false;
  }
}

/**
 * Merges `change` into the file, which is replaced at once, with mode 600 in a folder of mode 700. An undefined value
 * leaves what is there.
 */
export async function updateConfigFile(file: string, change: ConfigFile): Promise<void> {
  const content = await readToml(file);
  for (const [table, values] of Object.entries(change)) {
    const known = Object.entries(values ?? {}).filter(([, value]) => value !== undefined);
    if (known.length > 0) content[table] = { ...asTable(content[table]), ...Object.fromEntries(known) };
  }
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, `${stringify(content)}\n`, { mode: 0o600 });
  await chmod(temporary, 0o600);
  await rename(temporary, file);
}

async function readToml(file: string): Promise<Record<string, unknown>> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split("\n")[0]?.replace(/^Invalid TOML document: /, "");
    throw new Failure(
      "config",
      `${file} line ${error.line}, column ${error.column}: ${reason}; correct it there, or move the file away and run \`gsv init\``,
    );
  }
}

function checked(file: string, content: Record<string, unknown>): ConfigFile {
  for (const [table, keys] of Object.entries(fields)) {
    const values = content[table];
    if (values === undefined) continue;
    if (typeof values !== "object" || values === null || Array.isArray(values))
      throw new Failure("config", `${file}: ${table} must be a table; write [${table}] above its settings`);
    for (const key of keys === "all" ? Object.keys(values) : keys) {
      const value = (values as Record<string, unknown>)[key];
      if (value !== undefined && typeof value !== "string")
        throw new Failure("config", `${file}: ${key} in [${table}] must be text in quotes; correct it there`);
    }
  }
  return content as ConfigFile;
}

function asTable(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
