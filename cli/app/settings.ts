import { join, resolve } from "node:path";
import { configFolder, isExposed, readConfigFile } from "./config-file.ts";
import type { Terminal } from "./terminal.ts";

/** A setting and where it came from, in words for the user. */
export interface Sourced {
  value: string;
  source: string;
}

/** What the command goes by: flag before environment before config file. */
export interface Settings {
  /** The config file, whether it exists or not. */
  file: string;
  url?: Sourced;
  token?: Sourced;
  nodeId?: string;
  workspace?: string;
  /** The session of commands that name none. */
  sessionKey: string;
}

export interface GlobalFlags {
  url?: string;
  token?: string;
  config?: string;
}

const defaultSessionKey = "agent:main:main";

/** Reads the config file and lays environment and flags over it. */
export async function readSettings(flags: GlobalFlags, terminal: Terminal): Promise<Settings> {
  const { env, cwd, stderr } = terminal;
  const file = flags.config ? resolve(cwd, flags.config) : join(configFolder(env), "config.toml");
  const content = await readConfigFile(file);
  if (content.gateway?.token !== undefined && (await isExposed(file)))
    stderr.write(`gsv: ${file} holds a token and others can read it; run \`chmod 600 ${file}\`\n`);
  return {
    file,
    url: first([flags.url, "--url"], [env.GSV_URL, "GSV_URL"], [content.gateway?.url, file]),
    token: first([flags.token, "--token"], [env.GSV_TOKEN, "GSV_TOKEN"], [content.gateway?.token, file]),
    nodeId: content.node?.id,
    workspace: content.node?.workspace,
    sessionKey: content.session?.default_key || defaultSessionKey,
  };
}

function first(...candidates: [string | undefined, string][]): Sourced | undefined {
  for (const [value, source] of candidates) if (value) return { value, source };
  return undefined;
}
