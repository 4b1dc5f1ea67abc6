import { type ChildProcess, execFileSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runningGateway } from "../../../local/dev/dev-state.ts";
import { until } from "../../support/until.ts";
import { Driver } from "../driver.ts";
import { now } from "../marks.ts";
import { makeFolder, startChild } from "./children.ts";
import { type Usage, usageOf } from "./process-usage.ts";

/** The program that `npm start` runs. */
const shipped = [process.execPath, fileURLToPath(new URL("../../../cli/bin.mjs", import.meta.url)), "dev"];

/** Timeout of a gateway's start, ms; the first one may have to build it. */
const startTimeoutMs = 60_000;
const stopTimeoutMs = 30_000;

export interface GatewayOptions {
  /** The command that starts a gateway, with words separated by spaces; by default `gsv dev`. It gets `--data`. */
  command?: string;
  /** Passes `--fsync`: an acknowledged write survives a power failure. */
  fsync?: boolean;
  /** Address of the model server to configure; by default the configuration does not change. */
  modelUrl?: string;
  /** Starts Node with the inspector. */
  inspectable?: boolean;
}

/** A shipped gateway in a separate process. It offers its folder as a node, and reads lines of a chat. */
export interface GatewayProcess {
  url: string;
  token: string;
  /** The process that wrote `gateway.json` in the data folder. */
  pid: number;
  /** A connected client. */
  driver: Driver;
  /** Time from the start of the process to its answer to `connect`, ms. */
  readyMs: number;
  /** When the process was started, ms of `now()`. */
  startedAt: number;
  usage(): Usage;
  /** Its output on standard error. */
  errors(): string;
  stop(): Promise<void>;
}

/** Starts a gateway with the data folder of this bench; each start continues with the data of the previous one. */
export async function startGateway(options: GatewayOptions): Promise<GatewayProcess> {
  const [program = "", ...words] = wordsOf(options.command);
  const data = join(makeFolder("gateway"), "data");
  const args = [...words, "--data", data, ...(options.fsync ? ["--fsync"] : [])];
  const startedAt = now();
  const child = startChild(program, args, {
    cwd: makeFolder("lent"),
    env: environment(options),
    // Its chat reads lines until the input ends.
    stdio: ["pipe", "ignore", "pipe"],
  });
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-10_000);
  });
  const failed = once(child, "exit").then(([code]): never => {
    throw new Error(`the gateway ended with ${code} before it was ready: ${errors}`);
  });
  failed.catch(() => {});
  const ready = until(() => runningGateway(data), "the gateway is ready", startTimeoutMs);
  const { url, token, pid } = await Promise.race([ready, failed]);
  const driver = await Driver.connect({ url, token });
  const readyMs = now() - startedAt;
  return {
    url,
    token,
    pid,
    driver,
    readyMs,
    startedAt,
    usage: () => usageOf(child.pid ?? 0),
    errors: () => errors,
    async stop() {
      await driver.close();
      await end(child);
    },
  };
}

const wordsOf = (command: string | undefined) => command?.split(" ") ?? shipped;

/** @throws Error if the gateway's command does not know the option `--fsync` */
export function checkFsync(command: string | undefined): void {
  const [program = "", ...words] = wordsOf(command);
  const help = execFileSync(program, [...words, "--help"], { encoding: "utf8" });
  if (!help.includes("--fsync")) throw new Error("--fsync: this gateway has no such option");
}

/** Hides the user's provider keys, gateway address and config file from the gateway. */
function environment({ inspectable, modelUrl }: GatewayOptions): NodeJS.ProcessEnv {
  const { PATH, TMPDIR } = process.env;
  return {
    PATH,
    HOME: makeFolder("home"),
    ...(TMPDIR === undefined ? {} : { TMPDIR }),
    ...(modelUrl === undefined ? {} : { GSV_MODEL_BASE_URL: modelUrl, GSV_MODEL: "instant" }),
    ...(inspectable ? { NODE_OPTIONS: "--inspect-port=0" } : {}),
  };
}

/** The end of its input ends its chat, and so the gateway. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  child.stdin?.end();
  await ended;
  clearTimeout(timer);
}
