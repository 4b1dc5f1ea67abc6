import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";

/** The model settings of a gateway's configuration, as far as local mode sets them. */
export interface ModelSettings {
  provider: string;
  id: string;
  baseUrl?: string;
}

/** What a data folder's `gateway.json` says; the folder's other files are the local cloud's own. */
export interface GatewayFile {
  /** The WebSocket address, good while `pid` runs. */
  url: string;
  /** The local token. The file is readable by its owner alone. */
  token: string;
  /** Absent after a clean end. */
  pid?: number;
  /** The model settings that local mode wrote last; others are the user's own. */
  model?: ModelSettings;
  /** Whether the agent was given the files that it starts with. */
  hasAgent?: boolean;
}

export type RunningGateway = GatewayFile & { pid: number };

const reachableMs = 1000;

/** The file's content; undefined when there is none, or when it is damaged: then it is written anew. */
export async function readGatewayFile(dir: string): Promise<GatewayFile | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(join(dir, "gateway.json"), "utf8"));
    return isGatewayFile(value) ? value : undefined;
  } catch (error) {
    const isAbsent = ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
    if (isAbsent || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Replaces the file at once, with mode 600 in a folder of mode 700. */
export async function writeGatewayFile(dir: string, content: GatewayFile): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const temporary = join(dir, `gateway.json.${process.pid}.tmp`);
  await writeFile(temporary, `${JSON.stringify(content)}\n`, { mode: 0o600 });
  await chmod(temporary, 0o600);
  await rename(temporary, join(dir, "gateway.json"));
}

/** The gateway of a data folder if it runs: its process lives, and its address takes connections. */
export async function runningGateway(dir: string): Promise<RunningGateway | undefined> {
  const file = await readGatewayFile(dir);
  if (file?.pid === undefined || !isAlive(file.pid) || !(await takesConnections(file.url))) return undefined;
  return { ...file, pid: file.pid };
}

function isGatewayFile(value: unknown): value is GatewayFile {
  if (typeof value !== "object" || value === null) return false;
  const { url, token, pid } = value as Record<string, unknown>;
  return (
    typeof url === "string" && typeof token === "string" && (pid === undefined || typeof pid === "number")
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function takesConnections(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(reachableMs, () => end(false));
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
