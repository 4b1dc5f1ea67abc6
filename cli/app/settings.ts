import { join, resolve } from "node:path";
import { configFolder, holdsSecret, isExposed, readConfigFile } from "./config-file.ts";
import { type Terminal, writeText } from "./terminal.ts";

/** A setting, and a user-readable name of its source: a flag, an environment variable or a file. */
interface Sourced {
  value: string;
  source: string;
}

/** The effective settings. A flag overrides the environment, which overrides the config file. */
export interface Settings {
  /** Absolute path of the config file. It may not exist. */
  file: string;
  url?: Sourced;
  token?: Sourced;
  nodeId?: string;
  workspace?: string;
  /** The session that a command uses when none is given. */
  sessionKey: string;
  /** Whether the interactive chat shows each turn's tokens, cost and time. */
  costLine: boolean;
}

interface GlobalFlags {
  url?: string;
  token?: string;
  config?: string;
}

const defaultSessionKey = "agent:main:main";

/**
 * Reads the config file and applies environment and flags over it. Warns when other users can read the token.
 */
export async function readSettings(flags: GlobalFlags, terminal: Terminal): Promise<Settings> {
  const { env, cwd, stderr } = terminal;
  const file = flags.config ? resolve(cwd, flags.config) : join(configFolder(env), "config.toml");
  const content = await readConfigFile(file);
  if (holdsSecret(content) && (await isExposed(file)))
    writeText(stderr, `gsv: ${file} holds a token and other users can read it; run \`chmod 600 ${file}\`\n`);
  return {
    file,
    url: first([flags.url, "--url"], [env.GSV_URL, "GSV_URL"], [content.gateway?.url, file]),
    token: first([flags.token, "--token"], [env.GSV_TOKEN, "GSV_TOKEN"], [content.gateway?.token, file]),
    nodeId: content.node?.id,
    workspace: content.node?.workspace,
    sessionKey: content.session?.default_key || defaultSessionKey,
    costLine: content.chat?.cost_line !== "off",
  };
}

function first(...candidates: [string | undefined, string][]): Sourced | undefined {
  for (const [value, source] of candidates) if (value) return { value, source };
  return undefined;
}
