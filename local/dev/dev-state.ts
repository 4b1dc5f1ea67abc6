import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";

/** The model settings that local mode writes into a gateway's configuration. */
export interface ModelSettings {
  provider: string;
  id: string;
  baseUrl?: string;
}

/** The content of a data folder's `gateway.json`. The folder's other files belong to the local cloud. */
export interface GatewayFile {
  /** The WebSocket address; valid while the process `pid` runs. */
  url: string;
  /** The local token. The file's mode is 600. */
  token: string;
  /** Process id of the gateway; absent after a clean shutdown. */
  pid?: number;
  /**
   * The model settings that local mode wrote last. Different settings in the configuration come from the
   * user.
   */
  model?: ModelSettings;
  /** Whether the agent's initial files were written. */
  hasAgent?: boolean;
}

export type RunningGateway = GatewayFile & { pid: number };

const reachableMs = 1000;

/** Reads the file. Undefined when it is missing or damaged; the next start then writes a new one. */
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

/** Replaces the file atomically, with mode 600. A new folder gets mode 700. */
export async function writeGatewayFile(dir: string, content: GatewayFile): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const temporary = join(dir, `gateway.json.${process.pid}.tmp`);
  await writeFile(temporary, `${JSON.stringify(content)}\n`, { mode: 0o600 });
  await chmod(temporary, 0o600);
  await rename(temporary, join(dir, "gateway.json"));
}

/**
 * The running gateway of a data folder: its process exists and its address accepts connections. Otherwise
 * undefined.
 */
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
