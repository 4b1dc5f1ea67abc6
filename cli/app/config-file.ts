import { chmod, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { parse, stringify, TomlError } from "smol-toml";
import { Failure } from "./failure.ts";

/** The content of the config file. Unknown tables and keys are kept when the file is rewritten. */
export interface ConfigFile {
  gateway?: { url?: string; token?: string };
  node?: { id?: string; workspace?: string };
  /** The Discord bridge: its token for the gateway, the bot's, another server of Discord's API. `rooms`: `on` or `off`. */
  discord?: { account?: string; token?: string; bot_token?: string; api_url?: string; rooms?: string };
  session?: { default_key?: string };
  /** `cost_line`: `on` or `off`. */
  chat?: { cost_line?: string };
  /** The stage that `gsv deploy` deployed last, and the CDK context values it used. */
  deploy?: Record<string, string>;
  /** Where `gsv deploy` deployed it. */
  aws?: { account?: string; region?: string };
}

type Environment = Record<string, string | undefined>;

/** Settings that must be strings, by table. `all`: every setting of the table. */
const fields: Record<keyof ConfigFile, readonly string[] | "all"> = {
  gateway: ["url", "token"],
  node: ["id", "workspace"],
  discord: ["account", "token", "bot_token", "api_url", "rooms"],
  session: ["default_key"],
  chat: ["cost_line"],
  deploy: "all",
  aws: ["account", "region"],
};

/** The known settings, as `table.name`, except those of tables with free names. */
export const fieldNames: readonly string[] = Object.entries(fields).flatMap(([table, names]) =>
  names === "all" ? [] : names.map((name) => `${table}.${name}`),
);

/** The settings that must not be shown. */
export const secretNames: readonly string[] = ["gateway.token", "discord.token", "discord.bot_token"];

/** Whether the config file has a secret. */
export function holdsSecret({ gateway, discord }: ConfigFile): boolean {
  return [gateway?.token, discord?.token, discord?.bot_token].some((secret) => secret !== undefined);
}

/** The folder of the config file and the chat history: `$XDG_CONFIG_HOME/gsv`, or `~/.config/gsv`. */
export function configFolder(env: Environment): string {
  const base = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  return join(base, "gsv");
}

/**
 * Reads the config file. A missing file is an empty config.
 * @throws Failure that names the file and the line, or the file and the field
 */
export async function readConfigFile(file: string): Promise<ConfigFile> {
  return checked(file, await readToml(file));
}

/**
 * Whether other users of this machine can read the file and its token. False on Windows or when there is no
 * file.
 */
export async function isExposed(file: string): Promise<boolean> {
  try {
    return process.platform !== "win32" && ((await stat(file)).mode & 0o077) !== 0;
  } catch {
    return false;
  }
}

/**
 * Merges `change` into the config file. Undefined values keep the stored value. The file is replaced
 * atomically, with mode 600; a new folder gets mode 700.
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
