import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { readGatewayFile, runningGateway } from "../../../local/dev/dev-state.ts";
import { configFolder, isExposed, readConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, failureOf } from "../../app/failure.ts";
import { checkoutFolder, version } from "../../app/installation.ts";
import { type Finding, failed, finding } from "./finding.ts";
import type { StoredHere } from "./gateway-checks.ts";

/** The checks of this machine, which need no gateway. */
export async function checkMachine(context: Context): Promise<Finding[]> {
  return [checkNode(process.versions.node), await checkConfig(context), await checkPorts(context.dataFolder)];
}

/** What this machine's files say about its token and its node. */
export async function storedHere(context: Context): Promise<StoredHere> {
  const { file, token } = await context.settings();
  const service = await readConfigFile(join(configFolder(context.terminal.env), "node-service.toml"));
  return { tokenFile: token?.source === file ? file : undefined, nodeId: service.node?.id };
}

/** Checks the Node.js version. `gsv` itself refuses to start on a version older than 20.19. */
export function checkNode(running: string): Finding {
  const [major = 0, minor = 0] = running.split(".").map(Number);
  const place = checkoutFolder() ?? "a package of npm";
  if (major < 20 || (major === 20 && minor < 19)) return finding("nodeTooOld", { running });
  return finding("nodeVersion", { running, version, place });
}

async function checkConfig(context: Context): Promise<Finding> {
  const settings = await context.settings().catch((error: unknown) => failureOf(error));
  if (settings instanceof Failure) return failed("config", settings);
  const { file, url, token } = settings;
  if (await isExposed(file)) return finding("configExposed", { file });
  const found = [url && `gateway from ${url.source}`, token && `token from ${token.source}`].filter(Boolean);
  return found.length > 0
    ? finding("configSources", { sources: found.join(", ") })
    : finding("configEmpty", { file });
}

/** Checks whether the ports that a folder's local gateway last used are free, so that its addresses do not change. */
export async function checkPorts(dataFolder: string): Promise<Finding> {
  if ((await readGatewayFile(dataFolder)) === undefined) return finding("portsNoGateway");
  const running = await runningGateway(dataFolder);
  const ports = Object.entries(await rememberedPorts(dataFolder));
  const list = (some: typeof ports) => some.map(([name, port]) => `${name} ${port}`).join(", ");
  if (running !== undefined) return finding("portsInUse", { pid: running.pid, ports: list(ports) });
  const taken: typeof ports = [];
  for (const entry of ports) if (!(await isFree(entry[1]))) taken.push(entry);
  if (taken.length > 0) return finding("portsTaken", { ports: list(taken) });
  return ports.length > 0 ? finding("portsFree", { ports: list(ports) }) : finding("portsUnknown");
}

/** The ports that a local gateway last used, by name. */
async function rememberedPorts(dataFolder: string): Promise<Record<string, number>> {
  const text = await readFile(join(dataFolder, "cloud.json"), "utf8").catch(() => "{}");
  const { ports = {} }: { ports?: Record<string, number> } = JSON.parse(text);
  return ports;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
